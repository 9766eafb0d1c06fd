package queries

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Counters are what an account's limits apply to.
type Counters struct {
	URLs      int64 `bun:"urls"`       // live links
	MonthURLs int64 `bun:"month_urls"` // links created in the calendar month, UTC, also those deleted since
}

// AccountCounters returns the counters of an account in the month of now; else ErrNotFound.
func (q *DB) AccountCounters(ctx context.Context, account uuid.UUID, now time.Time) (Counters, error) {
	var counters Counters
	err := q.db.NewSelect().TableExpr("linkledger.accounts AS account").
		ColumnExpr("account.urls, coalesce(month.urls, 0) AS month_urls").
		Join("LEFT JOIN linkledger.account_months AS month ON month.account_id = account.id AND month.month = ?::date", firstOf(now)).
		Where("account.id = ?", account).Scan(ctx, &counters)
	if err != nil {
		return Counters{}, failed("account counters", err)
	}
	return counters, nil
}
