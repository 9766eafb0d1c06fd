package projections

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
)

// clickFold sums up the clicks of a batch. Totals are deltas: the checkpoint sees to it that each is added once. Which clicks
// are unique only the table of visitors knows. Rows are written in the order of their keys, in which PostgreSQL finds them
// with less effort.
type clickFold struct {
	links    map[uuid.UUID]*linkClicks
	days     map[linkDay]int64 // clicks
	seen     map[linkVisitor]struct{}
	visitors []linkVisit // the first ones of the batch
	rotated  rotation
}

type linkClicks struct {
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

type linkVisit struct {
	linkVisitor

	day time.Time
}

// isClicks tells of events that change counters only. Readers of counters see them a little later, and a busy service has
// fewer transactions.
func isClicks(r eventstore.Recorded) bool { return strings.HasPrefix(r.Stream, events.StreamClicks) }

func newClickFold() countedClicks {
	return &clickFold{
		links: make(map[uuid.UUID]*linkClicks), days: make(map[linkDay]int64), seen: make(map[linkVisitor]struct{}),
	}
}

func (c *clickFold) add(batch events.ClicksRecorded) error {
	return eachCounted(batch, func(link uuid.UUID, click events.Click, on time.Time) {
		c.addToLink(link, click.At)
		c.days[linkDay{link, on}]++
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

func (c *clickFold) addToLink(link uuid.UUID, at time.Time) {
	clicks, ok := c.links[link]
	if !ok {
		clicks = &linkClicks{}
		c.links[link] = clicks
	}
	clicks.total++
	if at.After(clicks.last) {
		clicks.last = at
	}
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
	if !seen {
		c.visitors = append(c.visitors, linkVisit{linkVisitor{link, visitor}, on})
	}
}

// see tells whether the batch had a visitor before, and has him from now on.
func (c *clickFold) see(key linkVisitor) bool {
	_, seen := c.seen[key]
	if !seen {
		c.seen[key] = struct{}{}
	}
	return seen
}

func (c *clickFold) write(s *statements) {
	if len(c.links) == 0 {
		return
	}
	c.rotated.before(s)
	c.count(s)
	c.rotated.after(s)
}

// count does everything in one statement: the visitors that were not there yet are the unique clicks. The batch
// has each of them once and nobody else inserts any meanwhile, so there is no conflict: ON CONFLICT would first insert each
// on approval, and all this takes a sixth longer then.
func (c *clickFold) count(s *statements) {
	var visitors, days, links struct {
		link    uuidColumn
		visitor []string
		day     dateColumn
		total   []int64
		last    timeColumn
	}
	slices.SortFunc(c.visitors, func(a, b linkVisit) int {
		return cmp.Or(compareIDs(a.link, b.link), strings.Compare(a.visitor, b.visitor))
	})
	for _, v := range c.visitors {
		visitors.link, visitors.visitor = append(visitors.link, toUUID(v.link)), append(visitors.visitor, v.visitor)
		visitors.day = append(visitors.day, toDate(&v.day))
	}
	for _, key := range slices.SortedFunc(maps.Keys(c.days), func(a, b linkDay) int {
		return cmp.Or(compareIDs(a.link, b.link), a.day.Compare(b.day))
	}) {
		days.link, days.day, days.total = append(days.link, toUUID(key.link)), append(days.day, toDate(&key.day)), append(days.total, c.days[key])
	}
	for _, link := range slices.SortedFunc(maps.Keys(c.links), compareIDs) {
		clicks := c.links[link]
		links.link, links.total, links.last = append(links.link, toUUID(link)), append(links.total, clicks.total), append(links.last, toTime(clicks.last))
	}
	s.queue(`
		WITH fresh AS (
			INSERT INTO ?schema.visitors (url_id, visitor, day)
			SELECT seen.* FROM unnest($1::uuid[], $2::text[], $3::date[]) AS seen (url_id, visitor, day)
			WHERE NOT EXISTS (SELECT FROM ?schema.visitors AS v WHERE v.url_id = seen.url_id AND v.visitor = seen.visitor)
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
		visitors.link, visitors.visitor, visitors.day,
		days.link, days.day, days.total,
		links.link, links.total, links.last)
}

func compareIDs(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }
