package linkrow

import (
	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
)

// Columns holds the rows of links as columns, the form in which statements take many rows.
type Columns struct {
	ID, Account                           sqlbatch.UUIDs
	hash, longURL, note                   []string
	emailStats, ping, protected, archived []bool
	expires                               sqlbatch.Dates
	Number, maxClicks, Position, revision []int64
	tags                                  []string
	Created, modified, deleted            sqlbatch.Times
}

// ColumnsOf returns the columns of rows.
func ColumnsOf(rows []*readmodel.Link) *Columns {
	c := &Columns{}
	for _, row := range rows {
		c.ID = append(c.ID, sqlbatch.UUID(row.ID))
		c.Account = append(c.Account, sqlbatch.UUID(row.AccountID))
		c.Number = append(c.Number, int64(row.Number))
		c.hash, c.longURL = append(c.hash, row.Hash), append(c.longURL, row.LongURL)
		c.note = append(c.note, row.Note)
		c.emailStats, c.ping = append(c.emailStats, row.EmailStats), append(c.ping, row.Ping)
		c.protected = append(c.protected, row.Protected)
		c.archived = append(c.archived, row.Archived)
		c.expires = append(c.expires, sqlbatch.Date(row.ExpirationDate))
		c.maxClicks = append(c.maxClicks, row.MaxClicks)
		c.tags = append(c.tags, sqlbatch.Array(row.TagIDs))
		c.Created = append(c.Created, sqlbatch.Time(row.CreatedAt))
		c.modified = append(c.modified, sqlbatch.Time(row.ModifiedAt))
		c.Position, c.revision = append(c.Position, row.Position), append(c.revision, row.Revision)
		c.deleted = append(c.deleted, sqlbatch.Time(row.DeletedAt))
	}
	return c
}

// Mutable returns the id and the columns that events can change.
func (c *Columns) Mutable() []any {
	return []any{
		c.ID, c.hash, c.longURL, c.note, c.emailStats, c.ping, c.protected, c.archived, c.expires,
		c.maxClicks, c.tags, c.modified, c.revision, c.deleted,
	}
}

// CopySettings adds the columns from the hash to the tags to a copied row.
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
