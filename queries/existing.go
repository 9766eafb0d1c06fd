package queries

import (
	"context"
	"time"
)

// Existing is what there is of an account's links, as of a position of the log.
type Existing struct {
	Created         int64 // links so far, and restorations of deleted ones
	Deleted         int64 // of these
	Month           int64 // links created in the month of now, also those deleted since
	Commit, Prepare uint64
}

// Existing counts the links of an account; else ErrNotFound.
func (q *DB) Existing(ctx context.Context, account string, now time.Time) (Existing, error) {
	var existing Existing
	err := q.db.NewSelect().TableExpr("linkledger.accounts AS account").
		ColumnExpr("account.urls + account.deletions AS created, account.deletions AS deleted").
		ColumnExpr("coalesce(month.urls, 0) AS month, at.commit_pos AS commit, at.prepare_pos AS prepare").
		Join("LEFT JOIN linkledger.account_months AS month ON month.account_id = account.id AND month.month = ?::date", firstOf(now)).
		Join("JOIN linkledger.generations AS at ON at.name = 'accounts' AND at.serving").
		Where("account.id = ?::uuid", account).Scan(ctx, &existing)
	if err != nil {
		return Existing{}, failed("links of an account", err)
	}
	return existing, nil
}

// firstOf is the first day of the month of a moment, UTC.
func firstOf(now time.Time) string { return now.UTC().Format("2006-01") + "-01" }
