package dimensions

import (
	"strings"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/projections/clickcount"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
)

// Name is the name of the projection.
const Name = "dimensions"

// dimensionRest is the least time between two batches of a live projection: who asks for the past,
// and means just now, waits for it.
const dimensionRest = 100 * time.Millisecond

// dimensionPatience is how long clicks wait to be counted by dimension when there are very many:
// then most of them meet in the same rows.
const dimensionPatience = 5 * time.Second

// Projection returns the projection of the clicks by referrer, country, browser, system and device.
func Projection() projection.Definition { return Bounded(readmodel.MaxValues) }

// Bounded returns it with another bound of the values of a dimension for one link on one day.
func Bounded(most int) projection.Definition {
	return projection.Definition{
		Name: Name,
		Filter: projection.Types(
			events.ClicksRecorded{}, events.URLStatsReset{}, events.URLStatsRestored{},
		),
		Folds: projection.FoldsOf(func() projection.Fold { return newDimensionFold(most) }),
		Held:  true,
		Rests: true, MinPatience: dimensionRest, MaxPatience: dimensionPatience,
	}
}

// dimensionFold counts clicks by what they tell of their visitors. It follows the same clicks and
// resets as the counters of links, apart from them, so that these have no more to do.
type dimensionFold struct {
	counts clickcount.Fold
}

func newDimensionFold(most int) projection.Fold {
	return &dimensionFold{clickcount.Fold{
		Begin: func() clickcount.Clicks {
			return &dimensionClicks{most: most, row: make(map[dimensionValue]int)}
		},
		Reset: resetDimensions,
		Restore: func(s *sqlbatch.Batch, resets clickcount.Resets) {
			restoreDimensions(s, resets, most)
		},
	}}
}

// Read asks for nothing: the fold adds to the rows without knowing them.
func (d *dimensionFold) Read(*sqlbatch.Batch, []projection.Event) {}

func (d *dimensionFold) Apply(f projection.Event) error {
	switch e := f.Body.(type) {
	case events.ClicksRecorded:
		return d.counts.Add(e)
	case events.URLStatsReset, events.URLStatsRestored:
		return d.counts.Apply(f)
	}
	return projection.Unexpected(f)
}

func (d *dimensionFold) Size() int { return d.counts.Size() }

func (d *dimensionFold) Write(s *sqlbatch.Batch) []string {
	d.counts.Write(s)
	return nil
}

// dimensionClicks sums up clicks in columns, whose rows follow the order of arrival: it decides
// which values get a row.
type dimensionClicks struct {
	most             int
	row              map[dimensionValue]int
	link             sqlbatch.UUIDs
	day              []clickcount.Day
	dimension, value []string
	clicks           []int64
}

type dimensionValue struct {
	link             uuid.UUID
	day              clickcount.Day
	dimension, value string
}

func (d *dimensionClicks) Add(batch events.ClicksRecorded) error {
	return clickcount.EachCounted(batch, func(
		link uuid.UUID, click events.Click, on clickcount.Day,
	) {
		for _, told := range [...]struct{ dimension, value string }{
			{readmodel.DimensionReferrer, click.Referrer},
			{readmodel.DimensionCountry, click.Country},
			{readmodel.DimensionBrowser, click.Browser},
			{readmodel.DimensionOS, click.OS},
			{readmodel.DimensionDevice, click.Device},
		} {
			if told.value != "" {
				d.count(dimensionValue{link, on, told.dimension, told.value})
			}
		}
	})
}

func (d *dimensionClicks) count(v dimensionValue) {
	row, ok := d.row[v]
	if !ok {
		row = len(d.link)
		v.value = strings.Clone(v.value) // out of the event, which goes
		d.row[v] = row
		d.link, d.day = append(d.link, sqlbatch.UUID(v.link)), append(d.day, v.day)
		d.dimension, d.value = append(d.dimension, v.dimension), append(d.value, v.value)
		d.clicks = append(d.clicks, 0)
	}
	d.clicks[row]++
}

func (d *dimensionClicks) Size() int { return len(d.link) }

func (d *dimensionClicks) Write(s *sqlbatch.Batch) {
	if len(d.link) == 0 {
		return
	}
	s.Queue(`
		WITH folded AS (
			SELECT url_id, date 'epoch' + day AS day, dimension, value, clicks, arrival
			FROM unnest($2::uuid[], $3::int[], $4::text[], $5::text[], $6::bigint[]) WITH ORDINALITY
				AS f (url_id, day, dimension, value, clicks, arrival))`+addDimensions,
		d.most, d.link, d.day, d.dimension, d.value, d.clicks)
}

// addDimensions ends a statement that says in folded which clicks are to be added, each value once,
// in the order of arrival. A value gets a row while there are less than $1 of its link, day and
// dimension, and keeps it.
const addDimensions = `,
	known AS (
		UPDATE ?schema.click_dimensions AS d SET clicks = d.clicks + f.clicks FROM folded AS f
		WHERE d.url_id = f.url_id AND d.day = f.day AND d.dimension = f.dimension AND d.value = f.value AND f.value <> 'other'
		RETURNING f.arrival),
	fresh AS (
		SELECT url_id, day, dimension, value, clicks,
			count(*) FILTER (WHERE value <> 'other') OVER (PARTITION BY url_id, day, dimension ORDER BY arrival) + (
				SELECT count(*) FROM ?schema.click_dimensions AS d
				WHERE d.url_id = f.url_id AND d.day = f.day AND d.dimension = f.dimension AND d.value <> 'other') AS place
		FROM folded AS f WHERE arrival NOT IN (SELECT arrival FROM known))
	INSERT INTO ?schema.click_dimensions AS d (url_id, day, dimension, value, clicks)
	SELECT url_id, day, dimension, CASE WHEN place > $1::bigint THEN 'other' ELSE value END, sum(clicks)
	FROM fresh GROUP BY 1, 2, 3, 4
	ON CONFLICT (url_id, day, dimension, value) DO UPDATE SET clicks = d.clicks + EXCLUDED.clicks`

// resetDimensions sets the clicks of links aside.
func resetDimensions(s *sqlbatch.Batch, resets clickcount.Resets) {
	s.Queue(`
		WITH resets AS ( -- of two in a row the second has nothing to take away
			SELECT url_id, min(reset) AS reset FROM unnest($1::uuid[], $2::bigint[]) AS r (url_id, reset) GROUP BY url_id),
		taken AS (
			DELETE FROM ?schema.click_dimensions AS d USING resets AS r WHERE d.url_id = r.url_id
			RETURNING d.url_id, r.reset, d.day, d.dimension, d.value, d.clicks)
		INSERT INTO ?schema.reset_dimensions SELECT * FROM taken`, resets.Link, resets.Revision)
}

// restoreDimensions adds what resets took away to what came since, the first one undone first.
func restoreDimensions(s *sqlbatch.Batch, resets clickcount.Resets, most int) {
	s.Queue(`
		WITH resets AS (
			SELECT * FROM unnest($2::uuid[], $3::bigint[]) WITH ORDINALITY AS r (url_id, reset, turn)),
		taken AS (
			DELETE FROM ?schema.reset_dimensions AS d USING resets AS r WHERE d.url_id = r.url_id AND d.reset = r.reset
			RETURNING d.url_id, d.day, d.dimension, d.value, d.clicks, r.turn),
		folded AS (
			SELECT url_id, day, dimension, value, sum(clicks) AS clicks, min(arrival) AS arrival
			FROM (SELECT *, row_number() OVER (ORDER BY turn, value) AS arrival FROM taken) AS t GROUP BY 1, 2, 3, 4)`+addDimensions,
		most, resets.Link, resets.Revision)
}
