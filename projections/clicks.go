package projections

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"linkledger/events"
)

// clickFold sums up the clicks of a batch. Totals are deltas: the checkpoint sees to it that each is added once. Which
// clicks are unique only the table of visitors knows.
type clickFold struct {
	stats    map[uuid.UUID]*statsDelta
	days     map[linkDay]int64
	visitors map[linkVisitor]time.Time // day of the first click in the batch
}

type statsDelta struct {
	total int64
	last  time.Time
}

type linkDay struct {
	link uuid.UUID
	day  time.Time
}

type linkVisitor struct {
	link    uuid.UUID
	visitor string
}

func newClickFold() *clickFold {
	return &clickFold{
		stats:    make(map[uuid.UUID]*statsDelta),
		days:     make(map[linkDay]int64),
		visitors: make(map[linkVisitor]time.Time),
	}
}

func (c *clickFold) add(batch events.ClicksRecorded) error {
	for i, click := range batch.Clicks {
		id, err := parseID(click.URLID)
		if err != nil {
			return fmt.Errorf("click %d: %w", i, err)
		}
		if err := checkTime(click.At); err != nil {
			return fmt.Errorf("click %d: %w", i, err)
		}
		stats, ok := c.stats[id]
		if !ok {
			stats = &statsDelta{}
			c.stats[id] = stats
		}
		stats.total++
		if click.At.After(stats.last) {
			stats.last = click.At
		}
		on := day(click.At)
		c.days[linkDay{id, on}]++
		visitor := linkVisitor{id, click.Visitor}
		if _, seen := c.visitors[visitor]; !seen {
			c.visitors[visitor] = on
		}
	}
	return nil
}

// save writes everything in one statement: the visitors that were not there yet are the unique clicks.
func (c *clickFold) save(ctx context.Context, tx bun.Tx) error {
	if len(c.stats) == 0 {
		return nil
	}
	var (
		visitorLink, dayLink, statsLink uuidColumn
		visitor                         []string
		visitorDay, days, last          timeColumn
		dayTotal, statsTotal            []int64
	)
	for key, on := range c.visitors {
		visitorLink, visitor, visitorDay = append(visitorLink, key.link), append(visitor, key.visitor), append(visitorDay, on)
	}
	for key, total := range c.days {
		dayLink, days, dayTotal = append(dayLink, key.link), append(days, key.day), append(dayTotal, total)
	}
	for id, delta := range c.stats {
		statsLink, statsTotal, last = append(statsLink, id), append(statsTotal, delta.total), append(last, delta.last)
	}
	_, err := tx.NewRaw(`
		WITH fresh AS (
			INSERT INTO ?schema.visitors (url_id, visitor, day)
			SELECT * FROM unnest(?::uuid[], ?::text[], ?::date[])
			ON CONFLICT DO NOTHING
			RETURNING url_id, day),
		fresh_days AS (SELECT url_id, day, count(*) AS clicks FROM fresh GROUP BY url_id, day),
		counted_days AS (
			INSERT INTO ?schema.link_days AS d (url_id, day, total_clicks, unique_clicks)
			SELECT folded.url_id, folded.day, folded.total, coalesce(fresh_days.clicks, 0)
			FROM unnest(?::uuid[], ?::date[], ?::bigint[]) AS folded (url_id, day, total)
			LEFT JOIN fresh_days USING (url_id, day)
			ON CONFLICT (url_id, day) DO UPDATE SET
				total_clicks = d.total_clicks + EXCLUDED.total_clicks,
				unique_clicks = d.unique_clicks + EXCLUDED.unique_clicks)
		INSERT INTO ?schema.link_stats AS s (url_id, total_clicks, unique_clicks, last_visit, visited)
		SELECT folded.url_id, folded.total, coalesce(uniques.clicks, 0), folded.last_visit, true
		FROM unnest(?::uuid[], ?::bigint[], ?::timestamptz[]) AS folded (url_id, total, last_visit)
		LEFT JOIN (SELECT url_id, sum(clicks) AS clicks FROM fresh_days GROUP BY url_id) uniques USING (url_id)
		ON CONFLICT (url_id) DO UPDATE SET
			total_clicks = s.total_clicks + EXCLUDED.total_clicks,
			unique_clicks = s.unique_clicks + EXCLUDED.unique_clicks,
			last_visit = greatest(s.last_visit, EXCLUDED.last_visit),
			visited = true`,
		visitorLink, pgdialect.Array(visitor), visitorDay,
		dayLink, days, pgdialect.Array(dayTotal),
		statsLink, pgdialect.Array(statsTotal), last).Exec(ctx)
	if err != nil {
		return fmt.Errorf("count the clicks: %w", err)
	}
	return nil
}
