package queries

import (
	"context"
	"time"

	"linkledger/queries/lookup"

	"github.com/google/uuid"
	"github.com/uptrace/bun/dialect/pgdialect"
)

// Stats are the clicks of one live link.
type Stats struct {
	URLID        uuid.UUID  `bun:"id"`
	Hash         string     `bun:"hash"`
	TotalClicks  int64      `bun:"total_clicks"`
	UniqueClicks int64      `bun:"unique_clicks"`
	LastVisit    *time.Time `bun:"last_visit"` // UTC; nil: never visited
	Daily        []Day      `bun:"-"`          // days with clicks, the oldest first
}

// Day counts the clicks of one day.
type Day struct {
	Date   string `bun:"day"` // YYYY-MM-DD, UTC
	Total  int64  `bun:"total_clicks"`
	Unique int64  `bun:"unique_clicks"` // visitors whose first click on the link was on this day
}

// StatsByHash returns the clicks of the live link of the account that has the hash now, or
// ErrNotFound.
func (q *DB) StatsByHash(ctx context.Context, account uuid.UUID, hash string) (Stats, error) {
	if !lookup.Storable(hash) {
		return Stats{}, lookup.Failed("stats by hash", ErrNotFound)
	}
	stats := Stats{Daily: []Day{}}
	err := q.db.NewSelect().TableExpr(linkTables).
		ColumnExpr("link.id, link.hash, stats.last_visit").
		ColumnExpr("coalesce(stats.total_clicks, 0) AS total_clicks").
		ColumnExpr("coalesce(stats.unique_clicks, 0) AS unique_clicks").
		Where("link.hash = ? AND link.account_id = ?", hash, account).
		Where("link.deleted_at IS NULL").Limit(1).Scan(ctx, &stats)
	if err != nil {
		return Stats{}, lookup.Failed("stats by hash", err)
	}
	err = q.db.NewSelect().TableExpr("linkledger.link_days").
		ColumnExpr("to_char(day, 'YYYY-MM-DD') AS day, total_clicks, unique_clicks").
		Where("url_id = ?", stats.URLID).OrderExpr("link_days.day").Scan(ctx, &stats.Daily)
	if err != nil {
		return Stats{}, lookup.Failed("stats by hash", err)
	}
	return stats, nil
}

// DailyClicks returns the days with clicks of links, the oldest first, since the last reset of each
// link's stats. It includes deleted links, and does not check the account.
func (q *DB) DailyClicks(ctx context.Context, links []uuid.UUID) (map[uuid.UUID][]Day, error) {
	var rows []struct {
		URLID uuid.UUID `bun:"url_id"`
		Day   `bun:",extend"`
	}
	err := q.db.NewSelect().TableExpr("linkledger.link_days").
		ColumnExpr("url_id, to_char(day, 'YYYY-MM-DD') AS day, total_clicks, unique_clicks").
		Where("url_id = ANY(?::uuid[])", pgdialect.Array(links)).
		OrderExpr("url_id, link_days.day").Scan(ctx, &rows)
	if err != nil {
		return nil, lookup.Failed("daily clicks", err)
	}
	days := make(map[uuid.UUID][]Day, len(links))
	for _, row := range rows {
		days[row.URLID] = append(days[row.URLID], row.Day)
	}
	return days, nil
}
