package queries

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Redirect is the destination of a short link, with what may disable it.
type Redirect struct {
	URLID   uuid.UUID `bun:"id"`
	Owner   uuid.UUID `bun:"account_id"`
	LongURL string    `bun:"long_url"`
	// ExpirationDate is the last day on which the link works, YYYY-MM-DD, UTC; empty: never
	// expires.
	ExpirationDate string `bun:"expiration_date"`
	MaxClicks      int64  `bun:"max_clicks"` // 0: no limit
	TotalClicks    int64  `bun:"total_clicks"`
	Deleted        bool   `bun:"deleted"`
	OwnerActive    bool   `bun:"owner_active"`
	OwnerExpires   string `bun:"owner_expires"` // like ExpirationDate, for the owner's account
}

// Expired reports whether the last day of the link is over.
func (r Redirect) Expired(now time.Time) bool { return dayIsOver(r.ExpirationDate, now) }

// OwnerExpired reports whether the last day of the owner's account is over.
func (r Redirect) OwnerExpired(now time.Time) bool { return dayIsOver(r.OwnerExpires, now) }

// Redirect returns the live link that has the hash, of any account. If there is none, it returns
// the link that had the hash and was deleted last, or else ErrNotFound. If the owner's account is
// not in the read model yet, the owner counts as active, because accounts are opened active.
func (q *DB) Redirect(ctx context.Context, hash string) (Redirect, error) {
	if !Storable(hash) {
		return Redirect{}, failed("redirect", ErrNotFound)
	}
	var redirect Redirect
	err := q.db.NewSelect().TableExpr(linkTables).
		ColumnExpr("link.id, link.account_id, link.long_url, link.max_clicks").
		ColumnExpr("link.deleted_at IS NOT NULL AS deleted").
		ColumnExpr("coalesce(to_char(link.expiration_date, 'YYYY-MM-DD'), '') AS expiration_date").
		ColumnExpr("coalesce(stats.total_clicks, 0) AS total_clicks").
		ColumnExpr("coalesce(owner.active, true) AS owner_active").
		ColumnExpr("coalesce(to_char(owner.expiration_date, 'YYYY-MM-DD'), '') AS owner_expires").
		Join("LEFT JOIN linkledger.accounts AS owner ON owner.id = link.account_id").
		Where("link.hash = ?", hash).
		OrderExpr("link.deleted_at DESC NULLS FIRST, link.position DESC").
		Limit(1).Scan(ctx, &redirect)
	if err != nil {
		return Redirect{}, failed("redirect", err)
	}
	return redirect, nil
}
