package linkrow

import (
	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
)

// Table are links, turned by a quarter.
type Table struct {
	ID, Account                           sqlbatch.UUIDs
	hash, longURL, note                   []string
	emailStats, ping, protected, archived []bool
	expires                               sqlbatch.Dates
	Number, maxClicks, Position, revision []int64
	tags                                  []string
	Created, modified, deleted            sqlbatch.Times
}

// TableOf returns rows in columns.
func TableOf(rows []*readmodel.Link) *Table {
	c := &Table{}
	for _, row := range rows {
		c.ID, c.Account = append(
			c.ID, sqlbatch.UUID(row.ID),
		), append(c.Account, sqlbatch.UUID(row.AccountID))
		c.Number = append(c.Number, int64(row.Number))
		c.hash, c.longURL, c.note = append(
			c.hash, row.Hash,
		), append(c.longURL, row.LongURL), append(c.note, row.Note)
		c.emailStats, c.ping = append(c.emailStats, row.EmailStats), append(c.ping, row.Ping)
		c.protected, c.archived = append(
			c.protected, row.Protected,
		), append(c.archived, row.Archived)
		c.expires, c.maxClicks = append(
			c.expires, sqlbatch.Date(row.ExpirationDate),
		), append(c.maxClicks, row.MaxClicks)
		c.tags = append(c.tags, sqlbatch.Array(row.TagIDs))
		c.Created, c.modified = append(
			c.Created, sqlbatch.Time(row.CreatedAt),
		), append(c.modified, sqlbatch.Time(row.ModifiedAt))
		c.Position, c.revision = append(c.Position, row.Position), append(c.revision, row.Revision)
		c.deleted = append(c.deleted, sqlbatch.Time(row.DeletedAt))
	}
	return c
}

// Changing returns the id and the columns that events change.
func (c *Table) Changing() []any {
	return []any{
		c.ID, c.hash, c.longURL, c.note, c.emailStats, c.ping, c.protected, c.archived, c.expires,
		c.maxClicks, c.tags,
		c.modified, c.revision, c.deleted,
	}
}

// CopySettings copies the columns of a link from the hash to the tags.
func CopySettings(r *sqlbatch.Row, row *readmodel.Link) {
	r.Text(row.Hash)
	r.Text(row.LongURL)
	r.Text(row.Note)
	r.Bool(row.EmailStats)
	r.Bool(row.Ping)
	r.Bool(row.Protected)
	r.Bool(row.Archived)
	r.Date(row.ExpirationDate)
	r.Bigint(row.MaxClicks)
	r.UUIDs(row.TagIDs)
}
