package counters

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/projections/clickcount"
	"linkledger/projections/linkrow"
	"linkledger/projections/sqlbatch"
	"linkledger/robots"
)

// clickFold sums up the clicks of a batch. The totals are added to the counters in the tables. The
// checkpoint is written in the same transaction, so each total is added only once. Only the table
// of visitors can show which clicks are unique. Rows are written in the order of their keys,
// because PostgreSQL then finds them with less effort.
type clickFold struct {
	days     []dayClicks
	index    map[linkDay]int // in days
	visitors []linkVisit     // the first visit of each visitor in the batch
	seen     map[linkVisitor]struct{}
	rotated  rotation
}

// dayClicks are the clicks of a link on a day.
type dayClicks struct {
	linkDay

	total int64
	last  int64 // time of the last click, in microseconds since 1970
}

type linkDay struct {
	link uuid.UUID
	day  clickcount.Day
}

type linkVisitor struct {
	link    uuid.UUID
	visitor string
}

type linkVisit struct {
	linkVisitor

	day clickcount.Day
}

func newClickFold() clickcount.Clicks {
	return &clickFold{index: make(map[linkDay]int), seen: make(map[linkVisitor]struct{})}
}

func (c *clickFold) Add(batch events.ClicksRecorded, judgement *robots.Judgement) error {
	return clickcount.EachCounted(batch, judgement, func(
		link uuid.UUID, click events.Click, on clickcount.Day,
	) {
		c.addToDay(linkDay{link, on}, click.At)
		c.addVisitor(link, click, on)
	})
}

func (c *clickFold) addToDay(key linkDay, at time.Time) {
	i, ok := c.index[key]
	if !ok {
		i = len(c.days)
		c.index[key] = i
		c.days = append(c.days, dayClicks{linkDay: key, last: at.UnixMicro()})
	}
	clicks := &c.days[i]
	clicks.total++
	clicks.last = max(clicks.last, at.UnixMicro())
}

func (c *clickFold) addVisitor(link uuid.UUID, click events.Click, on clickcount.Day) {
	visitor, seen := c.see(linkVisitor{link, click.Visitor})
	if click.Former != "" {
		former, before := c.see(linkVisitor{link, click.Former})
		if !seen || !before {
			c.rotated.add(former, visitor, !seen && !before)
		}
		visitor, seen = former, seen || before
	}
	if !seen {
		c.visitors = append(c.visitors, linkVisit{visitor, on})
	}
}

// see adds a visitor to the visitors of the batch, and reports whether the visitor was there
// already. It returns a copy of a new visitor, so that the event can be freed.
func (c *clickFold) see(v linkVisitor) (kept linkVisitor, seen bool) {
	if _, seen := c.seen[v]; seen {
		return v, true
	}
	v.visitor = strings.Clone(v.visitor)
	c.seen[v] = struct{}{}
	return v, false
}

func (c *clickFold) Size() int { return len(c.days) + len(c.visitors) + len(c.rotated.link) }

func (c *clickFold) Write(s *sqlbatch.Batch) {
	if len(c.days) == 0 {
		return
	}
	c.rotated.before(s)
	c.count(s)
	c.rotated.after(s)
}

// count queues one statement that updates the visitors, days, links and sets. It is one statement
// because each step needs the result of the step before. A visitor who is not in the table yet
// counts as a unique click of the day. The unique clicks of the days add up to those of the link. A
// link whose total was 0 enters the sets "clicked" and "visited".
//
// Visitors are inserted without ON CONFLICT. With it, PostgreSQL would insert each visitor
// speculatively first, and the statement would take a sixth longer. There is no conflict, because
// the batch has each visitor once, and no other transaction inserts visitors.
func (c *clickFold) count(s *sqlbatch.Batch) {
	slices.SortFunc(c.visitors, func(a, b linkVisit) int {
		return cmp.Or(compareIDs(a.link, b.link), strings.Compare(a.visitor, b.visitor))
	})
	n := len(c.visitors)
	seen, visitor, first := make(sqlbatch.UUIDs, n), make([]string, n), make([]clickcount.Day, n)
	for i, v := range c.visitors {
		seen[i], visitor[i], first[i] = sqlbatch.UUID(v.link), v.visitor, v.day
	}
	slices.SortFunc(c.days, func(a, b dayClicks) int {
		return cmp.Or(compareIDs(a.link, b.link), cmp.Compare(a.day, b.day))
	})
	days, links := columnsOf(c.days), columnsOf(linksOf(c.days))
	s.Queue(`
		WITH fresh AS (
			INSERT INTO ?schema.visitors (url_id, visitor, day)
			SELECT seen.url_id, seen.visitor, date 'epoch' + seen.day
			FROM unnest($1::uuid[], $2::text[], $3::int[]) AS seen (url_id, visitor, day)
			WHERE NOT EXISTS (
				SELECT FROM ?schema.visitors AS v
				WHERE v.url_id = seen.url_id AND v.visitor = seen.visitor)
			RETURNING url_id, day),
		fresh_days AS (
			SELECT url_id, day, count(*) AS clicks FROM fresh GROUP BY url_id, day),
		counted_days AS (
			INSERT INTO ?schema.link_days AS d (url_id, day, total_clicks, unique_clicks)
			SELECT folded.url_id, folded.day, folded.total, coalesce(fresh_days.clicks, 0)
			FROM (
				SELECT url_id, date 'epoch' + day AS day, total
				FROM unnest($4::uuid[], $5::int[], $6::bigint[])
					AS f (url_id, day, total)) AS folded
			LEFT JOIN fresh_days USING (url_id, day)
			ON CONFLICT (url_id, day) DO UPDATE SET
				total_clicks = d.total_clicks + EXCLUDED.total_clicks,
				unique_clicks = d.unique_clicks + EXCLUDED.unique_clicks),
		folded AS (
			SELECT * FROM unnest($7::uuid[], $8::bigint[], $9::timestamptz[])
				AS f (url_id, total, last_visit)),
		counted AS (
			INSERT INTO ?schema.link_stats AS s
				(url_id, total_clicks, unique_clicks, last_visit, visited)
			SELECT
				folded.url_id, folded.total, coalesce(uniques.clicks, 0), folded.last_visit, true
			FROM folded
			LEFT JOIN (SELECT url_id, sum(clicks) AS clicks FROM fresh_days GROUP BY url_id)
				AS uniques USING (url_id)
			ON CONFLICT (url_id) DO UPDATE SET
				total_clicks = s.total_clicks + EXCLUDED.total_clicks,
				unique_clicks = s.unique_clicks + EXCLUDED.unique_clicks,
				last_visit = greatest(s.last_visit, EXCLUDED.last_visit),
				visited = true
			RETURNING url_id, account_id, number, total_clicks),
		toggled AS (
			SELECT account_id, number, name
			FROM counted JOIN folded USING (url_id), (VALUES ('clicked'), ('visited')) n (name)
			WHERE total_clicks = total)`+linkrow.ToggleSets,
		seen, visitor, first,
		days.link, days.day, days.total,
		links.link, links.total, links.last)
}

// linksOf sums up days by link. The days are sorted by link.
func linksOf(days []dayClicks) []dayClicks {
	links := make([]dayClicks, 0, len(days))
	for _, d := range days {
		if last := len(links) - 1; last >= 0 && links[last].link == d.link {
			links[last].total += d.total
			links[last].last = max(links[last].last, d.last)
		} else {
			links = append(links, d)
		}
	}
	return links
}

// clickColumns holds dayClicks as columns.
type clickColumns struct {
	link  sqlbatch.UUIDs
	day   []clickcount.Day
	total []int64
	last  sqlbatch.Times
}

func columnsOf(rows []dayClicks) clickColumns {
	n := len(rows)
	c := clickColumns{
		make(sqlbatch.UUIDs, n), make([]clickcount.Day, n), make([]int64, n),
		make(sqlbatch.Times, n),
	}
	for i, r := range rows {
		c.link[i], c.day[i], c.total[i] = sqlbatch.UUID(r.link), r.day, r.total
		c.last[i] = sqlbatch.Time(time.UnixMicro(r.last))
	}
	return c
}

func compareIDs(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }
