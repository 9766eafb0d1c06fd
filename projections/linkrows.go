package projections

import "linkledger/projections/readmodel"

// linkTable are links, turned by a quarter.
type linkTable struct {
	id, account                           uuidColumn
	hash, longURL, note                   []string
	emailStats, ping, protected, archived []bool
	expires                               dateColumn
	number, maxClicks, position, revision []int64
	tags                                  []string
	created, modified, deleted            timeColumn
}

func tableOf(rows []*readmodel.Link) *linkTable {
	c := &linkTable{}
	for _, row := range rows {
		c.id, c.account = append(c.id, toUUID(row.ID)), append(c.account, toUUID(row.AccountID))
		c.number = append(c.number, int64(row.Number))
		c.hash, c.longURL, c.note = append(c.hash, row.Hash), append(c.longURL, row.LongURL), append(c.note, row.Note)
		c.emailStats, c.ping = append(c.emailStats, row.EmailStats), append(c.ping, row.Ping)
		c.protected, c.archived = append(c.protected, row.Protected), append(c.archived, row.Archived)
		c.expires, c.maxClicks = append(c.expires, toDate(row.ExpirationDate)), append(c.maxClicks, row.MaxClicks)
		c.tags = append(c.tags, toArray(row.TagIDs))
		c.created, c.modified = append(c.created, toTime(row.CreatedAt)), append(c.modified, toTime(row.ModifiedAt))
		c.position, c.revision = append(c.position, row.Position), append(c.revision, row.Revision)
		c.deleted = append(c.deleted, toTime(row.DeletedAt))
	}
	return c
}

// linkColumns are those of copyRow.link.
var linkColumns = []string{
	"id", "account_id", "number", "hash", "long_url", "note", "email_stats", "ping", "protected", "archived", "expiration_date",
	"max_clicks", "tag_ids", "created_at", "modified_at", "position", "revision", "deleted_at",
}

func (r *copyRow) link(row *readmodel.Link) {
	r.uuid(row.ID)
	r.uuid(row.AccountID)
	r.integer(row.Number)
	r.settings(row)
	r.timestamptz(row.CreatedAt)
	r.timestamptz(row.ModifiedAt)
	r.bigint(row.Position)
	r.bigint(row.Revision)
	r.timestamptz(row.DeletedAt)
}

// settings are the hash, the tags, and what is between them.
func (r *copyRow) settings(row *readmodel.Link) {
	r.text(row.Hash)
	r.text(row.LongURL)
	r.text(row.Note)
	r.bool(row.EmailStats)
	r.bool(row.Ping)
	r.bool(row.Protected)
	r.bool(row.Archived)
	r.date(row.ExpirationDate)
	r.bigint(row.MaxClicks)
	r.uuids(row.TagIDs)
}

func copyLinks(s *statements, rows []*readmodel.Link) {
	s.copy("links", linkColumns, len(rows), func(r *copyRow, i int) { r.link(rows[i]) })
}

func insertLinks(s *statements, rows []*readmodel.Link) {
	if len(rows) == 0 {
		return
	}
	c := tableOf(rows)
	s.queue(`
		INSERT INTO ?schema.links (id, hash, long_url, note, email_stats, ping, protected, archived, expiration_date,
			max_clicks, tag_ids, modified_at, revision, deleted_at, account_id, number, created_at, position)
		SELECT id, hash, long_url, note, email_stats, ping, protected, archived, expiration_date,
			max_clicks, tag_ids::uuid[], modified_at, revision, deleted_at, account_id, number, created_at, position
		FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::bool[], $6::bool[], $7::bool[], $8::bool[],
			$9::date[], $10::bigint[], $11::text[], $12::timestamptz[], $13::bigint[], $14::timestamptz[],
			$15::uuid[], $16::integer[], $17::timestamptz[], $18::bigint[])
			AS created (id, hash, long_url, note, email_stats, ping, protected, archived, expiration_date,
			max_clicks, tag_ids, modified_at, revision, deleted_at, account_id, number, created_at, position)`,
		append(c.changing(), c.account, c.number, c.created, c.position)...)
}

// foldedColumns are those that events change.
const foldedColumns = `
	hash = folded.hash, long_url = folded.long_url, note = folded.note, email_stats = folded.email_stats,
	ping = folded.ping, protected = folded.protected, archived = folded.archived,
	expiration_date = folded.expiration_date, max_clicks = folded.max_clicks, tag_ids = folded.tag_ids::uuid[],
	modified_at = folded.modified_at, revision = folded.revision, deleted_at = folded.deleted_at`

func updateLinks(s *statements, rows []*readmodel.Link) {
	if len(rows) == 0 {
		return
	}
	s.queue(`
		UPDATE ?schema.links AS link SET `+foldedColumns+`
		FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::bool[], $6::bool[], $7::bool[], $8::bool[],
			$9::date[], $10::bigint[], $11::text[], $12::timestamptz[], $13::bigint[], $14::timestamptz[])
			AS folded (id, hash, long_url, note, email_stats, ping, protected, archived, expiration_date,
			max_clicks, tag_ids, modified_at, revision, deleted_at)
		WHERE link.id = folded.id`, tableOf(rows).changing()...)
}

// changing returns the id and the columns that events change.
func (c *linkTable) changing() []any {
	return []any{
		c.id, c.hash, c.longURL, c.note, c.emailStats, c.ping, c.protected, c.archived, c.expires, c.maxClicks, c.tags,
		c.modified, c.revision, c.deleted,
	}
}
