package queries

import (
	"context"

	"github.com/google/uuid"
	"github.com/uptrace/bun/dialect/pgdialect"
)

// DailyClicks returns the days with clicks of links, the oldest first, since the last reset of each link's stats. Deleted
// links have theirs still; the account is not looked at.
func (q *DB) DailyClicks(ctx context.Context, links []uuid.UUID) (map[uuid.UUID][]Day, error) {
	var rows []struct {
		URLID uuid.UUID `bun:"url_id"`
		Day   `bun:",extend"`
	}
	err := q.db.NewSelect().TableExpr("linkledger.link_days").
		ColumnExpr("url_id, to_char(day, 'YYYY-MM-DD') AS day, total_clicks, unique_clicks").
		Where("url_id = ANY(?::uuid[])", pgdialect.Array(links)).OrderExpr("url_id, link_days.day").Scan(ctx, &rows)
	if err != nil {
		return nil, failed("daily clicks", err)
	}
	days := make(map[uuid.UUID][]Day, len(links))
	for _, row := range rows {
		days[row.URLID] = append(days[row.URLID], row.Day)
	}
	return days, nil
}
