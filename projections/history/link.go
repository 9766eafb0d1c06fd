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

// linkHistory is a link with the versions and search texts of it to write.
type linkHistory struct {
	created      bool           // by the batch: the tables have no row of the link
	versions     []*linkVersion // the last one is the link as it is now
	search       searchText     // the latest one; a deleted link keeps it
	formerSearch []searchText
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

// searchText is the hash and the text by which queries find a live link.
type searchText struct {
	span
	hash, text string
}

// link returns a copy of the link as it is now, or nil if it does not exist.
func (l *linkHistory) link() *readmodel.Link {
	if l == nil {
		return nil
	}
	link := l.versions[len(l.versions)-1].Link
	link.TagIDs = slices.Clone(link.TagIDs)
	return &link
}

// update replaces the link from a moment on. If several changes have the same moment, the last one
// counts. noted says that the change sets a sealed note. It always starts a new search text,
// because the notes cannot be compared any more once they are erased.
func (l *linkHistory) update(link readmodel.Link, at int64, noted bool) {
	if n := len(l.versions); n > 0 && l.versions[n-1].since == at {
		l.versions[n-1].Link, l.versions[n-1].changed = link, true
	} else {
		if n > 0 {
			l.versions[n-1].until, l.versions[n-1].changed = at, true
		}
		l.versions = append(l.versions, &linkVersion{link, span{at, readmodel.Forever, true}})
	}
	text := ""
	if link.DeletedAt.IsZero() {
		text = readmodel.SearchText(link.LongURL, link.Note, link.Hash) // never empty
	}
	l.updateSearch(link.Hash, text, at, noted)
}

// updateSearch replaces the search text from a moment on. An empty text ends it.
func (l *linkHistory) updateSearch(hash, text string, at int64, noted bool) {
	current := &l.search
	valid := current.until == readmodel.Forever
	same := !noted && current.hash == hash && current.text == text
	switch {
	case !valid && text == "", valid && text != "" && same:
		return
	case text == "":
		current.until = at
	default:
		if current.text != "" && current.since < at {
			current.until = min(current.until, at)
			l.formerSearch = append(l.formerSearch, *current)
		}
		*current = searchText{span{since: at, until: readmodel.Forever}, hash, text}
	}
	current.changed = true
}

// readLinks queues the query for the latest version and search text of each link. Versions are
// keyed by account and number, which only the row with the search text gives for a link's id.
// LATERAL with LIMIT 1 then probes the primary key of the versions once for each link.
func readLinks(s *sqlbatch.Batch, links sqlbatch.UUIDs, into map[uuid.UUID]*linkHistory) {
	if len(links) == 0 {
		return
	}
	s.Queue(`
		SELECT search.since, search.until, search.hash, search.text,
			`+versionColumns.List("version")+`
		FROM unnest($1::uuid[]) AS touched (id)
		JOIN ?schema.link_faces AS search ON search.link_id = touched.id
		CROSS JOIN LATERAL (
			SELECT * FROM ?schema.link_versions
			WHERE account_id = search.account_id AND number = search.number
			ORDER BY since DESC LIMIT 1) AS version`, links).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			v, search := &linkVersion{span: span{until: readmodel.Forever}}, searchText{}
			var text []byte
			if err := rows.Scan(append(
				[]any{&search.since, &search.until, &search.hash, &text},
				versionColumns.Scan(v)...,
			)...); err != nil {
				return err
			}
			search.text = string(text)
			into[v.ID] = &linkHistory{versions: []*linkVersion{v}, search: search}
		}
		return rows.Err()
	})
}

// writeLinks queues the changes of versions and search texts. It uses COPY for rows that cannot
// exist yet: those of new links, and former search texts, which never change.
func writeLinks(s *sqlbatch.Batch, links map[uuid.UUID]*linkHistory) {
	var newVersions, versions []*linkVersion
	var newSearch, search, former []*searchRow
	// The order is that of the indexes.
	inOrder := slices.SortedFunc(maps.Values(links), func(a, b *linkHistory) int {
		x, y := a.versions[0], b.versions[0]
		return cmp.Or(
			bytes.Compare(x.AccountID[:], y.AccountID[:]), cmp.Compare(x.Number, y.Number),
		)
	})
	for _, l := range inOrder {
		toVersions, toSearch := &versions, &search
		if l.created {
			toVersions, toSearch = &newVersions, &newSearch
		}
		for _, v := range l.versions {
			if v.changed {
				*toVersions = append(*toVersions, v)
			}
		}
		link := &l.versions[0].Link
		if l.search.changed {
			*toSearch = append(*toSearch, &searchRow{link, l.search})
		}
		for _, text := range l.formerSearch {
			former = append(former, &searchRow{link, text})
		}
	}
	s.Copy(
		"link_versions", versionColumns.Names(), len(newVersions),
		func(r *sqlbatch.Row, i int) { versionColumns.Copy(r, newVersions[i]) },
	)
	s.Copy(
		"link_faces", searchColumns.Names(), len(newSearch),
		func(r *sqlbatch.Row, i int) { searchColumns.Copy(r, newSearch[i]) },
	)
	s.Copy(
		"former_faces", searchColumns.Names(), len(former),
		func(r *sqlbatch.Row, i int) { searchColumns.Copy(r, former[i]) },
	)
	if len(versions) > 0 {
		s.Queue(upsertVersion, versionColumns.Arrays(versions)...)
	}
	if len(search) > 0 {
		s.Queue(upsertSearchRow, searchColumns.Arrays(search)...)
	}
}

// versionColumns are those of the table link_versions.
var versionColumns = append(
	sqlbatch.Within(
		slices.Concat(linkrow.ID, linkrow.Mutable, linkrow.Owner, linkrow.Created),
		func(v *linkVersion) *readmodel.Link { return &v.Link },
	),
	sqlbatch.BigintColumn("since", func(v *linkVersion) *int64 { return &v.since }),
	sqlbatch.BigintColumn("until", func(v *linkVersion) *int64 { return &v.until }),
)

// upsertVersion replaces a version that exists already: a batch ends the last version of a link,
// and may replace it if its moment is the same.
var upsertVersion = versionColumns.Insert("?schema.link_versions") +
	" ON CONFLICT (account_id, number, since) DO UPDATE SET until = EXCLUDED.until, " +
	linkrow.Mutable.Assign("EXCLUDED")

// searchRow is a search text with its link.
type searchRow struct {
	link *readmodel.Link
	searchText
}

// searchColumns are those of the tables of search texts.
var searchColumns = sqlbatch.Columns[searchRow]{
	sqlbatch.UUIDColumn("account_id", func(r *searchRow) *uuid.UUID { return &r.link.AccountID }),
	sqlbatch.BigintColumn("since", func(r *searchRow) *int64 { return &r.since }),
	sqlbatch.BigintColumn("until", func(r *searchRow) *int64 { return &r.until }),
	sqlbatch.IntegerColumn("number", func(r *searchRow) *int { return &r.link.Number }),
	sqlbatch.BytesColumn("text", func(r *searchRow) *string { return &r.text }),
	sqlbatch.TextColumn("hash", func(r *searchRow) *string { return &r.hash }),
	sqlbatch.UUIDColumn("link_id", func(r *searchRow) *uuid.UUID { return &r.link.ID }),
}

var upsertSearchRow = searchColumns.Insert("?schema.link_faces") + `
	ON CONFLICT (link_id) DO UPDATE SET
		since = EXCLUDED.since, until = EXCLUDED.until, hash = EXCLUDED.hash, text = EXCLUDED.text`
