package links

import (
	"slices"

	"linkledger/projections/linkrow"
	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
)

var (
	// The columns of the table links.
	columns = slices.Concat(linkrow.ID, linkrow.Mutable, linkrow.Owner, linkrow.Created,
		linkrow.Columns{
			sqlbatch.BigintColumn(
				"position", func(l *readmodel.Link) *int64 { return &l.Position },
			),
		})
	selection = "SELECT " + columns.List("") + " FROM ?schema.links WHERE id = ANY($1::uuid[])"
	insertion = columns.Insert("?schema.links")

	// updated are the columns whose values are the parameters of update.
	updated = slices.Concat(linkrow.ID, linkrow.Mutable)
	update  = "UPDATE ?schema.links AS link SET " + linkrow.Mutable.Assign("folded") + " FROM " +
		updated.Unnest("folded") + " WHERE link.id = folded.id"
)

func copyLinks(s *sqlbatch.Batch, rows []*readmodel.Link) {
	s.Copy("links", columns.Names(), len(rows), func(r *sqlbatch.Row, i int) {
		columns.Copy(r, rows[i])
	})
}

// insertLinks queues one INSERT of all rows.
func insertLinks(s *sqlbatch.Batch, rows []*readmodel.Link) {
	if len(rows) > 0 {
		s.Queue(insertion, columns.Arrays(rows)...)
	}
}

func updateLinks(s *sqlbatch.Batch, rows []*readmodel.Link) {
	if len(rows) > 0 {
		s.Queue(update, updated.Arrays(rows)...)
	}
}
