package history

import (
	"bytes"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

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
		SELECT search.since, search.until, search.hash, search.text, version.since, version.id,
			version.account_id, version.number, version.hash, version.long_url, version.note,
			version.email_stats, version.ping, version.protected, version.archived,
			version.expiration_date, version.max_clicks, version.tag_ids, version.created_at,
			version.modified_at, version.revision, version.deleted_at
		FROM unnest($1::uuid[]) AS touched (id)
		JOIN ?schema.link_faces AS search ON search.link_id = touched.id
		CROSS JOIN LATERAL (
			SELECT * FROM ?schema.link_versions
			WHERE account_id = search.account_id AND number = search.number
			ORDER BY since DESC LIMIT 1) AS version`, links).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			v, search := &linkVersion{span: span{until: readmodel.Forever}}, searchText{}
			var text []byte
			var deleted pgtype.Timestamptz
			if err := rows.Scan(
				&search.since, &search.until, &search.hash, &text, &v.since, &v.ID,
				&v.AccountID, &v.Number, &v.Hash, &v.LongURL, &v.Note, &v.EmailStats, &v.Ping,
				&v.Protected, &v.Archived, &v.ExpirationDate, &v.MaxClicks, &v.TagIDs,
				&v.CreatedAt, &v.ModifiedAt, &v.Revision, &deleted,
			); err != nil {
				return err
			}
			v.DeletedAt, search.text = deleted.Time, string(text)
			into[v.ID] = &linkHistory{versions: []*linkVersion{v}, search: search}
		}
		return rows.Err()
	})
}

// writeLinks queues the changes of versions and search texts. It uses COPY for rows that cannot
// exist yet: those of new links, and former search texts, which never change.
func writeLinks(s *sqlbatch.Batch, links map[uuid.UUID]*linkHistory) {
	var newVersions, versions []*linkVersion
	var newSearch, search, former []searchRow
	// Ids sort by creation, as the indexes do.
	inOrder := slices.SortedFunc(maps.Values(links), func(a, b *linkHistory) int {
		return bytes.Compare(a.versions[0].ID[:], b.versions[0].ID[:])
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
			*toSearch = append(*toSearch, searchRow{link, l.search})
		}
		for _, text := range l.formerSearch {
			former = append(former, searchRow{link, text})
		}
	}
	s.Copy(
		"link_versions", versionColumns, len(newVersions),
		func(r *sqlbatch.Row, i int) { copyVersion(r, newVersions[i]) },
	)
	s.Copy(
		"link_faces", searchColumns, len(newSearch),
		func(r *sqlbatch.Row, i int) { copySearchRow(r, newSearch[i]) },
	)
	s.Copy(
		"former_faces", searchColumns, len(former),
		func(r *sqlbatch.Row, i int) { copySearchRow(r, former[i]) },
	)
	if len(versions) > 0 {
		upsertVersions(s, versions)
	}
	if len(search) > 0 {
		upsertSearchRows(s, search)
	}
}

// versionColumns lists the columns in the order in which copyVersion writes them.
var versionColumns = []string{
	"account_id", "number", "since", "until", "id", "hash", "long_url", "note", "email_stats",
	"ping", "protected", "archived", "expiration_date", "max_clicks", "tag_ids", "created_at",
	"modified_at", "revision", "deleted_at",
}

func copyVersion(r *sqlbatch.Row, v *linkVersion) {
	r.UUID(v.AccountID)
	r.Integer(v.Number)
	r.Bigint(v.since)
	r.Bigint(v.until)
	r.UUID(v.ID)
	linkrow.CopySettings(r, &v.Link)
	r.Timestamptz(v.CreatedAt)
	r.Timestamptz(v.ModifiedAt)
	r.Bigint(v.Revision)
	r.Timestamptz(v.DeletedAt)
}

// upsertVersions queues one statement for all versions, as an array for each column: its text then
// does not depend on the number of rows. A version may exist already, because a batch ends the last
// version of a link and may replace it if its moment is the same. PostgreSQL has no array of arrays
// of different lengths, so each row's tags come as the text of an array.
func upsertVersions(s *sqlbatch.Batch, versions []*linkVersion) {
	var rows []*readmodel.Link
	var since, until []int64
	for _, v := range versions {
		rows, since, until = append(rows, &v.Link), append(since, v.since), append(until, v.until)
	}
	c := linkrow.ColumnsOf(rows)
	s.Queue(`
		INSERT INTO ?schema.link_versions (
			id, hash, long_url, note, email_stats, ping, protected, archived, expiration_date,
			max_clicks, tag_ids, modified_at, revision, deleted_at, account_id, number, created_at,
			since, until)
		SELECT id, hash, long_url, note, email_stats, ping, protected, archived, expiration_date,
			max_clicks, tag_ids::uuid[], modified_at, revision, deleted_at, account_id, number,
			created_at, since, until
		FROM unnest(
			$1::uuid[], $2::text[], $3::text[], $4::text[], $5::bool[], $6::bool[], $7::bool[],
			$8::bool[], $9::date[], $10::bigint[], $11::text[], $12::timestamptz[],
			$13::bigint[], $14::timestamptz[], $15::uuid[], $16::integer[], $17::timestamptz[],
			$18::bigint[], $19::bigint[])
			AS folded (
				id, hash, long_url, note, email_stats, ping, protected, archived, expiration_date,
				max_clicks, tag_ids, modified_at, revision, deleted_at, account_id, number,
				created_at, since, until)
		ON CONFLICT (account_id, number, since) DO UPDATE SET
			until = EXCLUDED.until, hash = EXCLUDED.hash, long_url = EXCLUDED.long_url,
			note = EXCLUDED.note, email_stats = EXCLUDED.email_stats, ping = EXCLUDED.ping,
			protected = EXCLUDED.protected, archived = EXCLUDED.archived,
			expiration_date = EXCLUDED.expiration_date, max_clicks = EXCLUDED.max_clicks,
			tag_ids = EXCLUDED.tag_ids, modified_at = EXCLUDED.modified_at,
			revision = EXCLUDED.revision, deleted_at = EXCLUDED.deleted_at`,
		append(c.Mutable(), c.Account, c.Number, c.Created, since, until)...)
}

// searchRow is a search text with its link.
type searchRow struct {
	link *readmodel.Link
	searchText
}

// searchColumns lists the columns in the order in which copySearchRow writes them.
var searchColumns = []string{"account_id", "since", "until", "number", "text", "hash", "link_id"}

func copySearchRow(r *sqlbatch.Row, f searchRow) {
	r.UUID(f.link.AccountID)
	r.Bigint(f.since)
	r.Bigint(f.until)
	r.Integer(f.link.Number)
	r.Text(f.text) // text and bytea have the same binary form
	r.Text(f.hash)
	r.UUID(f.link.ID)
}

func upsertSearchRows(s *sqlbatch.Batch, rows []searchRow) {
	var link, account sqlbatch.UUIDs
	var since, until, number []int64
	var text [][]byte
	var hash []string
	for _, r := range rows {
		link = append(link, sqlbatch.UUID(r.link.ID))
		account = append(account, sqlbatch.UUID(r.link.AccountID))
		since, until = append(since, r.since), append(until, r.until)
		number = append(number, int64(r.link.Number))
		text, hash = append(text, []byte(r.text)), append(hash, r.hash)
	}
	s.Queue(`
		INSERT INTO ?schema.link_faces (account_id, since, until, number, text, hash, link_id)
		SELECT * FROM unnest(
			$1::uuid[], $2::bigint[], $3::bigint[], $4::integer[], $5::bytea[], $6::text[],
			$7::uuid[])
		ON CONFLICT (link_id) DO UPDATE SET
			since = EXCLUDED.since, until = EXCLUDED.until, hash = EXCLUDED.hash,
			text = EXCLUDED.text`,
		account, since, until, number, text, hash, link)
}
