package history

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"linkledger/projections/linkrow"
	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
)

// linkHistory holds the latest version and search text that a link had before a batch, and the
// versions and texts that the batch adds.
type linkHistory struct {
	created  bool // the batch creates the link, so the tables have no row of it
	versions []*linkVersion
	texts    []*searchText
}

// span is the time in which a row is valid.
type span struct {
	since, until int64 // moments; until is readmodel.Forever if the row is still valid
	changed      bool  // the row has to be written
}

type linkVersion struct {
	readmodel.Link
	span
}

// searchText is the hash and the text of a live link for searches.
type searchText struct {
	span
	hash, text string
}

// link returns a copy of the current link, or nil if it does not exist.
func (l *linkHistory) link() *readmodel.Link {
	if l == nil {
		return nil
	}
	link := l.versions[len(l.versions)-1].Link
	link.TagIDs = slices.Clone(link.TagIDs)
	return &link
}

// update replaces the link from a moment on. If several changes have the same moment, the last one
// counts. noted means that the change sets a sealed note. Such a change always starts a new search
// text, because notes can no longer be compared once they are erased.
func (l *linkHistory) update(link readmodel.Link, at int64, noted bool) {
	if n := len(l.versions); n > 0 && l.versions[n-1].since == at {
		l.versions[n-1].Link, l.versions[n-1].changed = link, true
	} else {
		if n > 0 {
			l.versions[n-1].until, l.versions[n-1].changed = at, true
		}
		l.versions = append(l.versions, &linkVersion{link, span{at, readmodel.Forever, true}})
	}
	if link.DeletedAt.IsZero() {
		text := readmodel.SearchText(link.LongURL, link.Note, link.Hash)
		l.setText(searchText{span{at, readmodel.Forever, true}, link.Hash, text}, noted)
	} else {
		l.endText(at)
	}
}

// setText replaces the search text, unless the text stays the same and noted is false.
func (l *linkHistory) setText(text searchText, noted bool) {
	var last *searchText
	if n := len(l.texts); n > 0 {
		last = l.texts[n-1]
	}
	switch {
	case last == nil:
	case last.until == readmodel.Forever && !noted &&
		last.hash == text.hash && last.text == text.text:
		return
	case last.since == text.since:
		*last = text
		return
	default:
		l.endText(text.since)
	}
	l.texts = append(l.texts, &text)
}

// endText ends the search text, unless it has ended before.
func (l *linkHistory) endText(at int64) {
	if last := l.texts[len(l.texts)-1]; last.until == readmodel.Forever {
		last.until, last.changed = at, true
	}
}

// readLinks queues the query for the latest version and search text of each link. The key of a
// version has the account and number of the link. Only the search text gives these for the id of a
// link. LATERAL with LIMIT 1 probes the primary keys once for each link.
func readLinks(s *sqlbatch.Batch, links sqlbatch.UUIDs, into map[uuid.UUID]*linkHistory) {
	if len(links) == 0 {
		return
	}
	s.Queue(`
		SELECT search.since, search.until, search.hash, search.text,
			`+versionColumns.List("version")+`
		FROM unnest($1::uuid[]) AS touched (id)
		CROSS JOIN LATERAL (
			SELECT * FROM ?schema.text_versions
			WHERE link_id = touched.id ORDER BY since DESC LIMIT 1) AS search
		CROSS JOIN LATERAL (
			SELECT * FROM ?schema.link_versions
			WHERE account_id = search.account_id AND number = search.number
			ORDER BY since DESC LIMIT 1) AS version`, links).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			version, search := &linkVersion{}, &searchText{}
			var text []byte
			if err := rows.Scan(append(
				[]any{&search.since, &search.until, &search.hash, &text},
				versionColumns.Scan(version)...,
			)...); err != nil {
				return err
			}
			search.text = string(text)
			into[version.ID] = &linkHistory{
				versions: []*linkVersion{version}, texts: []*searchText{search},
			}
		}
		return rows.Err()
	})
}

// writeLinks queues the changes of versions and search texts. It uses COPY for the rows of new
// links, which cannot exist yet.
func writeLinks(s *sqlbatch.Batch, links map[uuid.UUID]*linkHistory) {
	var newVersions, versions []*linkVersion
	var newTexts, texts []*textVersion
	// The indexes have this order.
	inOrder := slices.SortedFunc(maps.Values(links), func(a, b *linkHistory) int {
		x, y := a.versions[0], b.versions[0]
		return cmp.Or(
			bytes.Compare(x.AccountID[:], y.AccountID[:]), cmp.Compare(x.Number, y.Number),
		)
	})
	for _, l := range inOrder {
		toVersions, toTexts := &versions, &texts
		if l.created {
			toVersions, toTexts = &newVersions, &newTexts
		}
		for _, v := range l.versions {
			if v.changed {
				*toVersions = append(*toVersions, v)
			}
		}
		for _, text := range l.texts {
			if text.changed {
				*toTexts = append(*toTexts, &textVersion{&l.versions[0].Link, *text})
			}
		}
	}
	s.Copy(
		"link_versions", versionColumns.Names(), len(newVersions),
		func(r *sqlbatch.Row, i int) { versionColumns.Copy(r, newVersions[i]) },
	)
	s.Copy(
		"text_versions", textColumns.Names(), len(newTexts),
		func(r *sqlbatch.Row, i int) { textColumns.Copy(r, newTexts[i]) },
	)
	if len(versions) > 0 {
		s.Queue(upsertVersion, versionColumns.Arrays(versions)...)
	}
	if len(texts) > 0 {
		s.Queue(upsertText, textColumns.Arrays(texts)...)
	}
}

// versionColumns are the columns of the table link_versions.
var versionColumns = append(
	sqlbatch.Within(
		slices.Concat(linkrow.ID, linkrow.Mutable, linkrow.Owner, linkrow.Created),
		func(v *linkVersion) *readmodel.Link { return &v.Link },
	),
	sqlbatch.BigintColumn("since", func(v *linkVersion) *int64 { return &v.since }),
	sqlbatch.BigintColumn("until", func(v *linkVersion) *int64 { return &v.until }),
)

// upsertVersion inserts versions, and updates those that exist already. A batch ends the last
// version of a link, or changes that version if an event has the same moment.
var upsertVersion = versionColumns.Insert("?schema.link_versions") +
	" ON CONFLICT (account_id, number, since) DO UPDATE SET until = EXCLUDED.until, " +
	linkrow.Mutable.Assign("EXCLUDED")

// textVersion is a search text with its link.
type textVersion struct {
	link *readmodel.Link
	searchText
}

// textColumns are the columns of the table text_versions.
var textColumns = sqlbatch.Columns[textVersion]{
	sqlbatch.UUIDColumn("link_id", func(t *textVersion) *uuid.UUID { return &t.link.ID }),
	sqlbatch.BigintColumn("since", func(t *textVersion) *int64 { return &t.since }),
	sqlbatch.BigintColumn("until", func(t *textVersion) *int64 { return &t.until }),
	sqlbatch.UUIDColumn("account_id", func(t *textVersion) *uuid.UUID { return &t.link.AccountID }),
	sqlbatch.IntegerColumn("number", func(t *textVersion) *int { return &t.link.Number }),
	sqlbatch.TextColumn("hash", func(t *textVersion) *string { return &t.hash }),
	sqlbatch.BytesColumn("text", func(t *textVersion) *string { return &t.text }),
}

var upsertText = textColumns.Insert("?schema.text_versions") + `
	ON CONFLICT (link_id, since) DO UPDATE SET
		until = EXCLUDED.until, hash = EXCLUDED.hash, text = EXCLUDED.text`
