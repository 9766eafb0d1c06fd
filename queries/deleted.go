package queries

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"linkledger/queries/lookup"

	"github.com/google/uuid"
)

// DeletedLink is a link that was deleted, as it was then.
type DeletedLink struct {
	Link      `bun:",extend"`
	DeletedAt time.Time `bun:"deleted_at"` // UTC
	// Restorable reports whether a restoration of the hash brings back this link. This is so if no
	// link has the hash now, and this link was the last one of the account to be deleted with the
	// hash.
	Restorable bool `bun:"restorable"`
}

// DeletedLinks returns a page of the links of an account that are deleted, the latest first, and
// the number of links on all pages.
func (q *DB) DeletedLinks(
	ctx context.Context, account uuid.UUID, offset, limit int,
) (links []DeletedLink, total int64, err error) {
	// The table of tallies has the number, so PostgreSQL need not count the rows.
	err = q.db.NewRaw(`SELECT deletions - restorations FROM linkledger.link_tallies
		WHERE account_id = ?`, account).Scan(ctx, &total)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, 0, lookup.Failed("deleted links", err)
	}
	if err := q.db.NewSelect().ColumnExpr(linkColumns).ColumnExpr("link.deleted_at").
		ColumnExpr(`NOT EXISTS (
			SELECT FROM linkledger.links AS other WHERE other.hash = link.hash
				AND (other.deleted_at IS NULL OR other.account_id = link.account_id
					AND (other.deleted_at, other.number) > (link.deleted_at, link.number))
			) AS restorable`).
		TableExpr(linkTables).
		// A subquery chooses the page first. Otherwise PostgreSQL would compute all columns of the
		// rows before the page too.
		Where(`link.id IN (SELECT id FROM linkledger.links
			WHERE account_id = ? AND deleted_at IS NOT NULL
			ORDER BY deleted_at DESC, number DESC OFFSET ? LIMIT ?)`, account, offset, limit).
		OrderExpr("link.deleted_at DESC, link.number DESC").
		Scan(ctx, &links); err != nil {
		return nil, 0, lookup.Failed("deleted links", err)
	}
	return links, total, nil
}
