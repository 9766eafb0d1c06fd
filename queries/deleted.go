package queries

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/google/uuid"
)

// DeletedLink is a link that was deleted, as it was then.
type DeletedLink struct {
	Link      `bun:",extend"`
	DeletedAt time.Time `bun:"deleted_at"` // UTC
}

// DeletedLinks returns a page of the links of an account that are deleted, the latest first, and
// how many there are.
func (q *DB) DeletedLinks(
	ctx context.Context, account uuid.UUID, offset, limit int,
) (links []DeletedLink, total int64, err error) {
	// The tally spares PostgreSQL to count the rows.
	err = q.db.NewRaw(`SELECT deletions - restorations FROM linkledger.link_tallies
		WHERE account_id = ?`, account).Scan(ctx, &total)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, 0, failed("deleted links", err)
	}
	if err := q.db.NewSelect().ColumnExpr(linkColumns).ColumnExpr("link.deleted_at").
		TableExpr(linkTables).Where("link.account_id = ?", account).
		Where("link.deleted_at IS NOT NULL").OrderExpr("link.deleted_at DESC, link.number DESC").
		Offset(int64(offset)).Limit(int64(limit)).
		Scan(ctx, &links); err != nil {
		return nil, 0, failed("deleted links", err)
	}
	return links, total, nil
}
