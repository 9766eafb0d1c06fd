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

// changing returns the id and the columns that events change.
func (c *linkTable) changing() []any {
	return []any{
		c.id, c.hash, c.longURL, c.note, c.emailStats, c.ping, c.protected, c.archived, c.expires, c.maxClicks, c.tags,
		c.modified, c.revision, c.deleted,
	}
}

// copySettings copies the columns of a link from the hash to the tags.
func copySettings(r *copyRow, row *readmodel.Link) {
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
