package queries

import (
	"context"
	"time"

	"linkledger/queries/lookup"

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

	// Links and Accounts are the checkpoints of the read models in the snapshot from which the
	// redirect was read.
	Links    Checkpoint `bun:"embed:links_"`
	Accounts Checkpoint `bun:"embed:accounts_"`
}

// Checkpoint is the position of the log up to which a read model has applied the events.
type Checkpoint struct {
	Commit  uint64 `bun:"commit"`
	Prepare uint64 `bun:"prepare"`
}

// After reports whether a checkpoint lies after another one.
func (c Checkpoint) After(other Checkpoint) bool {
	return c.Commit > other.Commit || c.Commit == other.Commit && c.Prepare > other.Prepare
}

// Expired reports whether the last day of the link is over.
func (r Redirect) Expired(now time.Time) bool { return lookup.DayIsOver(r.ExpirationDate, now) }

// OwnerExpired reports whether the last day of the owner's account is over.
func (r Redirect) OwnerExpired(now time.Time) bool { return lookup.DayIsOver(r.OwnerExpires, now) }

// Redirect returns the live link that has the hash, of any account. If there is none, it returns
// the link that had the hash and was deleted last, or else ErrNotFound with the checkpoints alone.
// If the owner's account is not in the read model yet, the owner counts as active, because accounts
// are opened active.
//
// The checkpoints and the link are of one snapshot. So the link, or its absence, reflects every
// event at or before the checkpoints.
func (q *DB) Redirect(ctx context.Context, hash string) (Redirect, error) {
	if !lookup.Storable(hash) {
		return Redirect{}, lookup.Failed("redirect", ErrNotFound)
	}
	found := q.db.NewSelect().TableExpr(linkTables).
		ColumnExpr("link.id, link.account_id, link.long_url, link.max_clicks").
		ColumnExpr("link.deleted_at IS NOT NULL AS deleted").
		ColumnExpr("coalesce(to_char(link.expiration_date, 'YYYY-MM-DD'), '') AS expiration_date").
		ColumnExpr("coalesce(stats.total_clicks, 0) AS total_clicks").
		ColumnExpr("coalesce(owner.active, true) AS owner_active").
		ColumnExpr("coalesce(to_char(owner.expiration_date, 'YYYY-MM-DD'), '') AS owner_expires").
		Join("LEFT JOIN linkledger.accounts AS owner ON owner.id = link.account_id").
		Where("link.hash = ?", hash).
		OrderExpr("link.deleted_at DESC NULLS FIRST, link.position DESC").
		Limit(1)
	var redirect Redirect
	err := q.db.NewSelect().TableExpr("linkledger.generations AS links").
		ColumnExpr("links.commit_pos AS links_commit, links.prepare_pos AS links_prepare").
		ColumnExpr("accounts.commit_pos AS accounts_commit").
		ColumnExpr("accounts.prepare_pos AS accounts_prepare").
		ColumnExpr("found.*").
		Join(`JOIN linkledger.generations AS accounts
			ON accounts.name = 'accounts' AND accounts.serving`).
		Join("LEFT JOIN LATERAL (?) AS found ON true", found).
		Where("links.name = 'links' AND links.serving").
		Scan(ctx, &redirect)
	if err != nil {
		return Redirect{}, lookup.Failed("redirect", err)
	}
	if redirect.URLID == uuid.Nil {
		return redirect, lookup.Failed("redirect", ErrNotFound)
	}
	return redirect, nil
}
