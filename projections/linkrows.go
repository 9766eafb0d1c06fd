package projections

import "linkledger/projections/readmodel"

// linkColumns are those of copyLink.
var linkColumns = []string{
	"id", "account_id", "number", "hash", "long_url", "note", "email_stats", "ping", "protected", "archived", "expiration_date",
	"max_clicks", "tag_ids", "created_at", "modified_at", "position", "revision", "deleted_at",
}

func copyLink(r *copyRow, row *readmodel.Link) {
	r.uuid(row.ID)
	r.uuid(row.AccountID)
	r.integer(row.Number)
	copySettings(r, row)
	r.timestamptz(row.CreatedAt)
	r.timestamptz(row.ModifiedAt)
	r.bigint(row.Position)
	r.bigint(row.Revision)
	r.timestamptz(row.DeletedAt)
}

func copyLinks(s *statements, rows []*readmodel.Link) {
	s.copy("links", linkColumns, len(rows), func(r *copyRow, i int) { copyLink(r, rows[i]) })
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
