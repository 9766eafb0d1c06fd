package counters

import (
	"linkledger/projections/clickcount"
	"linkledger/projections/linkrow"
	"linkledger/projections/sqlbatch"
	"linkledger/robots"
)

// resetCounts moves the clicks of links to the tables of reset clicks. The links keep the mark that
// they were visited, and the time of their last visit. It is one statement because it stores the
// rows that it deletes, and because the links that had clicks leave the set "clicked".
func resetCounts(s *sqlbatch.Batch, resets clickcount.Resets) {
	s.Queue(`
		WITH resets AS ( -- the first of several resets takes all clicks
			SELECT url_id, min(reset) AS reset
			FROM unnest($1::uuid[], $2::bigint[]) AS r (url_id, reset) GROUP BY url_id),
		days AS (
			DELETE FROM ?schema.link_days AS d USING resets AS r WHERE d.url_id = r.url_id
			RETURNING r.url_id, r.reset, d.day, d.total_clicks),
		seen AS (
			DELETE FROM ?schema.visitors AS v USING resets AS r WHERE v.url_id = r.url_id
			RETURNING r.url_id, r.reset, v.visitor, v.day),
		kept_days AS (INSERT INTO ?schema.reset_days SELECT * FROM days),
		kept_visitors AS (INSERT INTO ?schema.reset_visitors SELECT * FROM seen),
		toggled AS (
			UPDATE ?schema.link_stats SET total_clicks = 0, unique_clicks = 0
			WHERE url_id IN (SELECT url_id FROM resets) AND total_clicks > 0
			RETURNING account_id, number, 'clicked' AS name)`+linkrow.ToggleSets,
		resets.Link, resets.Revision)
}

// restoreCounts undoes resets: it adds the clicks that they took away to the clicks since then. A
// visitor who came before and after the reset counts once, on the day of the first visit. So the
// statement subtracts the unique click after the reset, and adds one on the earlier day. It is one
// statement so that it sees the visitors as they are before kept_visitors changes their days.
func restoreCounts(s *sqlbatch.Batch, resets clickcount.Resets) {
	s.Queue(`
		WITH resets AS (SELECT * FROM unnest($1::uuid[], $2::bigint[]) AS r (url_id, reset)),
		days AS (
			DELETE FROM ?schema.reset_days AS d USING resets AS r
			WHERE d.url_id = r.url_id AND d.reset = r.reset
			RETURNING d.url_id, d.day, d.total_clicks),
		seen AS (
			DELETE FROM ?schema.reset_visitors AS v USING resets AS r
			WHERE v.url_id = r.url_id AND v.reset = r.reset
			RETURNING v.url_id, v.reset, v.visitor, v.day),
		first_seen AS (
			SELECT DISTINCT ON (url_id, visitor) url_id, visitor, day
			FROM seen ORDER BY url_id, visitor, reset),
		kept_visitors AS (
			INSERT INTO ?schema.visitors (url_id, visitor, day)
			SELECT url_id, visitor, day FROM first_seen
			ON CONFLICT (url_id, visitor) DO UPDATE SET day = EXCLUDED.day),
		more AS (
			SELECT url_id, day, total_clicks AS total, 0 AS uniques FROM days
			UNION ALL SELECT url_id, day, 0, 1 FROM first_seen WHERE day IS NOT NULL
			UNION ALL SELECT v.url_id, v.day, 0, -1
				FROM ?schema.visitors AS v JOIN first_seen USING (url_id, visitor)
				WHERE v.day IS NOT NULL),
		counted_days AS (
			INSERT INTO ?schema.link_days AS d (url_id, day, total_clicks, unique_clicks)
			SELECT url_id, day, sum(total), sum(uniques) FROM more GROUP BY url_id, day
			ON CONFLICT (url_id, day) DO UPDATE SET
				total_clicks = d.total_clicks + EXCLUDED.total_clicks,
				unique_clicks = d.unique_clicks + EXCLUDED.unique_clicks),
		counted AS (
			UPDATE ?schema.link_stats AS s SET
				total_clicks = s.total_clicks + m.total,
				unique_clicks = s.unique_clicks + m.uniques
			FROM (SELECT url_id, sum(total) AS total, sum(uniques) AS uniques
				FROM more GROUP BY url_id) AS m
			WHERE s.url_id = m.url_id
			RETURNING s.account_id, s.number, s.total_clicks, m.total),
		toggled AS (
			SELECT account_id, number, 'clicked' AS name
			FROM counted WHERE total_clicks = total)`+linkrow.ToggleSets,
		resets.Link, resets.Revision)
}

// New returns a fold that counts the clicks of a batch in the counters of links.
func New(judgement *robots.Judgement) clickcount.Fold {
	return clickcount.Fold{
		Judgement: judgement, Begin: newClickFold, Reset: resetCounts, Restore: restoreCounts,
	}
}
