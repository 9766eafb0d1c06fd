package accountlist

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"linkledger/projections/readmodel"
	"linkledger/queries/lookup"
)

// Counters are the numbers to which an account's limits apply.
type Counters struct {
	URLs int64 `bun:"urls"` // live links
	// MonthURLs counts the links created in the calendar month, UTC, including those deleted since.
	MonthURLs int64 `bun:"month_urls"`
}

// AccountCounters returns the counters of an account in the month of now, or ErrNotFound.
func (q *Reader) AccountCounters(
	ctx context.Context, account uuid.UUID, now time.Time,
) (Counters, error) {
	var counters Counters
	err := q.accountCounts(now).
		ColumnExpr("coalesce(counts.created + counts.restorations - counts.deletions, 0) AS urls").
		Where("account.id = ?", account).Scan(ctx, &counters)
	if err != nil {
		return Counters{}, lookup.Failed("account counters", err)
	}
	return counters, nil
}

// LinkTotals counts the links of an account as of a position of the log.
type LinkTotals struct {
	Created int64 `bun:"created"` // links so far, and restorations of deleted links
	Deleted int64 `bun:"deleted"` // deletions of links so far, also of restored ones
	// Month counts the links created in the month of now, including those deleted since.
	Month           int64  `bun:"month_urls"`
	Commit, Prepare uint64 // position of the log
}

// LinkTotals counts the links of an account, or returns ErrNotFound.
func (q *Reader) LinkTotals(
	ctx context.Context, account string, now time.Time,
) (LinkTotals, error) {
	var existing LinkTotals
	err := q.accountCounts(now).
		ColumnExpr(
			"coalesce(counts.created + counts.restorations, 0) AS created, "+
				"coalesce(counts.deletions, 0) AS deleted",
		).
		ColumnExpr("at.commit_pos AS commit, at.prepare_pos AS prepare").
		Join("JOIN linkledger.generations AS at ON at.name = 'links' AND at.serving").
		Where("account.id = ?::uuid", account).Scan(ctx, &existing)
	if err != nil {
		return LinkTotals{}, lookup.Failed("links of an account", err)
	}
	return existing, nil
}

// accountCounts returns the query for accounts with their counts of links. The column month_urls is
// the number of links created in the month of now. These are the links in the sets of the days of
// that month.
func (q *Reader) accountCounts(now time.Time) *bun.SelectQuery {
	month := readmodel.BeforeDays + now.UTC().Format("2006-01")
	return q.db.NewSelect().TableExpr("linkledger.accounts AS account").
		Join("LEFT JOIN linkledger.link_tallies AS counts ON counts.account_id = account.id").
		ColumnExpr(`(SELECT coalesce(sum(bit_count(bits)), 0) FROM linkledger.link_sets
			WHERE account_id = account.id AND name > ? AND name < ?) AS month_urls`, month,
			month+"~")
}
