package links

import (
	"linkledger/projections/linkrow"
	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
)

// linkColumns lists the columns in the order in which copyLink writes them.
var linkColumns = []string{
	"id", "account_id", "number", "hash", "long_url", "note", "email_stats", "ping", "protected",
	"archived", "expiration_date", "max_clicks", "tag_ids", "created_at", "modified_at",
	"position", "revision", "deleted_at",
}

func copyLink(r *sqlbatch.Row, row *readmodel.Link) {
	r.UUID(row.ID)
	r.UUID(row.AccountID)
	r.Integer(row.Number)
	linkrow.CopySettings(r, row)
	r.Timestamptz(row.CreatedAt)
	r.Timestamptz(row.ModifiedAt)
	r.Bigint(row.Position)
	r.Bigint(row.Revision)
	r.Timestamptz(row.DeletedAt)
}

func copyLinks(s *sqlbatch.Batch, rows []*readmodel.Link) {
	s.Copy("links", linkColumns, len(rows), func(r *sqlbatch.Row, i int) { copyLink(r, rows[i]) })
}

// insertLinks queues one INSERT of all rows. The statement takes one array for each column, because
// its text then does not depend on the number of rows. PostgreSQL has no array of arrays of
// different lengths, so each row's tags come as the text of an array.
func insertLinks(s *sqlbatch.Batch, rows []*readmodel.Link) {
	if len(rows) == 0 {
		return
	}
	c := linkrow.ColumnsOf(rows)
	s.Queue(`
		INSERT INTO ?schema.links (
			id, hash, long_url, note, email_stats, ping, protected, archived, expiration_date,
			max_clicks, tag_ids, modified_at, revision, deleted_at, account_id, number, created_at,
			position)
		SELECT id, hash, long_url, note, email_stats, ping, protected, archived, expiration_date,
			max_clicks, tag_ids::uuid[], modified_at, revision, deleted_at, account_id, number,
			created_at, position
		FROM unnest(
			$1::uuid[], $2::text[], $3::text[], $4::text[], $5::bool[], $6::bool[], $7::bool[],
			$8::bool[], $9::date[], $10::bigint[], $11::text[], $12::timestamptz[],
			$13::bigint[], $14::timestamptz[], $15::uuid[], $16::integer[], $17::timestamptz[],
			$18::bigint[])
			AS created (
				id, hash, long_url, note, email_stats, ping, protected, archived, expiration_date,
				max_clicks, tag_ids, modified_at, revision, deleted_at, account_id, number,
				created_at, position)`,
		append(c.Mutable(), c.Account, c.Number, c.Created, c.Position)...)
}

// columnAssignments assigns the columns that events can change from the row folded.
const columnAssignments = `
	hash = folded.hash, long_url = folded.long_url, note = folded.note,
	email_stats = folded.email_stats, ping = folded.ping, protected = folded.protected,
	archived = folded.archived, expiration_date = folded.expiration_date,
	max_clicks = folded.max_clicks, tag_ids = folded.tag_ids::uuid[],
	modified_at = folded.modified_at, revision = folded.revision, deleted_at = folded.deleted_at`

func updateLinks(s *sqlbatch.Batch, rows []*readmodel.Link) {
	if len(rows) == 0 {
		return
	}
	s.Queue(`
		UPDATE ?schema.links AS link SET `+columnAssignments+`
		FROM unnest(
			$1::uuid[], $2::text[], $3::text[], $4::text[], $5::bool[], $6::bool[], $7::bool[],
			$8::bool[], $9::date[], $10::bigint[], $11::text[], $12::timestamptz[],
			$13::bigint[], $14::timestamptz[])
			AS folded (
				id, hash, long_url, note, email_stats, ping, protected, archived, expiration_date,
				max_clicks, tag_ids, modified_at, revision, deleted_at)
		WHERE link.id = folded.id`, linkrow.ColumnsOf(rows).Mutable()...)
}
