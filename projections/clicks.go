package projections

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
)

// clickFold sums up the clicks of a batch, in columns whose rows follow the order of arrival: clicks on one link often
// come together, and so do their rows in the tables. Totals are deltas: the checkpoint sees to it that each is added
// once. Which clicks are unique only the table of visitors knows.
type clickFold struct {
	stats struct {
		row   map[uuid.UUID]int
		link  uuidColumn
		total []int64
		last  timeColumn
	}
	days struct {
		row   map[linkDay]int
		link  uuidColumn
		day   dateColumn
		total []int64
	}
	visitors struct {
		seen    map[linkVisitor]struct{}
		link    uuidColumn
		visitor []string
		day     dateColumn // of the first click in the batch
	}
	rotated rotation
}

type linkDay struct {
	link uuid.UUID
	day  time.Time
}

type linkVisitor struct {
	link    uuid.UUID
	visitor string
}

// isClicks tells of events that change counters only. Readers of counters see them a little later, and a busy service has
// fewer transactions.
func isClicks(r eventstore.Recorded) bool { return strings.HasPrefix(r.Stream, events.StreamClicks) }

func newClickFold() countedClicks {
	c := &clickFold{}
	c.stats.row = make(map[uuid.UUID]int)
	c.days.row = make(map[linkDay]int)
	c.visitors.seen = make(map[linkVisitor]struct{})
	return c
}

func (c *clickFold) add(batch events.ClicksRecorded) error {
	return eachCounted(batch, func(link uuid.UUID, click events.Click, on time.Time) {
		c.addToStats(link, click.At)
		c.addToDay(linkDay{link, on})
		c.addVisitor(link, click, on)
	})
}

// eachCounted hands on the clicks that are counted, with their link and day.
func eachCounted(batch events.ClicksRecorded, count func(link uuid.UUID, click events.Click, on time.Time)) error {
	for i, click := range batch.Clicks {
		link, err := parseID(click.URLID)
		if err != nil {
			return fmt.Errorf("click %d: %w", i, err)
		}
		if err := checkTime(click.At); err != nil {
			return fmt.Errorf("click %d: %w", i, err)
		}
		if !click.Bot {
			count(link, click, day(click.At))
		}
	}
	return nil
}

func (c *clickFold) addToStats(link uuid.UUID, at time.Time) {
	row, ok := c.stats.row[link]
	if !ok {
		row = len(c.stats.link)
		c.stats.row[link] = row
		c.stats.link, c.stats.total, c.stats.last = append(c.stats.link, toUUID(link)), append(c.stats.total, 0), append(c.stats.last, toTime(at))
	}
	c.stats.total[row]++
	if at.After(c.stats.last[row].Time) {
		c.stats.last[row].Time = at
	}
}

func (c *clickFold) addToDay(key linkDay) {
	row, ok := c.days.row[key]
	if !ok {
		row = len(c.days.link)
		c.days.row[key] = row
		c.days.link, c.days.day, c.days.total = append(c.days.link, toUUID(key.link)), append(c.days.day, toDate(&key.day)), append(c.days.total, 0)
	}
	c.days.total[row]++
}

func (c *clickFold) addVisitor(link uuid.UUID, click events.Click, on time.Time) {
	visitor, seen := click.Visitor, c.see(linkVisitor{link, click.Visitor})
	if click.Former != "" {
		visitor = click.Former
		before := c.see(linkVisitor{link, click.Former})
		if !seen || !before {
			c.rotated.add(link, click, !seen && !before)
		}
		seen = seen || before
	}
	if v := &c.visitors; !seen {
		v.link, v.visitor, v.day = append(v.link, toUUID(link)), append(v.visitor, visitor), append(v.day, toDate(&on))
	}
}

// see tells whether the batch had a visitor before, and has him from now on.
func (c *clickFold) see(key linkVisitor) bool {
	_, seen := c.visitors.seen[key]
	if !seen {
		c.visitors.seen[key] = struct{}{}
	}
	return seen
}

func (c *clickFold) write(s *statements) {
	if len(c.stats.link) == 0 {
		return
	}
	c.rotated.before(s)
	c.count(s)
	c.rotated.after(s)
}

// count does everything in one statement: the visitors that were not there yet are the unique clicks.
func (c *clickFold) count(s *statements) {
	s.queue(`
		WITH fresh AS (
			INSERT INTO ?schema.visitors (url_id, visitor, day)
			SELECT * FROM unnest($1::uuid[], $2::text[], $3::date[])
			ON CONFLICT DO NOTHING
			RETURNING url_id, day),
		fresh_days AS (SELECT url_id, day, count(*) AS clicks FROM fresh GROUP BY url_id, day),
		counted_days AS (
			INSERT INTO ?schema.link_days AS d (url_id, day, total_clicks, unique_clicks)
			SELECT folded.url_id, folded.day, folded.total, coalesce(fresh_days.clicks, 0)
			FROM unnest($4::uuid[], $5::date[], $6::bigint[]) AS folded (url_id, day, total)
			LEFT JOIN fresh_days USING (url_id, day)
			ON CONFLICT (url_id, day) DO UPDATE SET
				total_clicks = d.total_clicks + EXCLUDED.total_clicks,
				unique_clicks = d.unique_clicks + EXCLUDED.unique_clicks),
		folded AS (SELECT * FROM unnest($7::uuid[], $8::bigint[], $9::timestamptz[]) AS f (url_id, total, last_visit)),
		counted AS (
			INSERT INTO ?schema.link_stats AS s (url_id, total_clicks, unique_clicks, last_visit, visited)
			SELECT folded.url_id, folded.total, coalesce(uniques.clicks, 0), folded.last_visit, true
			FROM folded
			LEFT JOIN (SELECT url_id, sum(clicks) AS clicks FROM fresh_days GROUP BY url_id) uniques USING (url_id)
			ON CONFLICT (url_id) DO UPDATE SET
				total_clicks = s.total_clicks + EXCLUDED.total_clicks,
				unique_clicks = s.unique_clicks + EXCLUDED.unique_clicks,
				last_visit = greatest(s.last_visit, EXCLUDED.last_visit),
				visited = true
			RETURNING url_id, account_id, number, total_clicks),
		toggled AS (
			SELECT account_id, number, name FROM counted JOIN folded USING (url_id), (VALUES ('clicked'), ('visited')) n (name)
			WHERE total_clicks = total)`+toggleSets,
		c.visitors.link, c.visitors.visitor, c.visitors.day,
		c.days.link, c.days.day, c.days.total,
		c.stats.link, c.stats.total, c.stats.last)
}
