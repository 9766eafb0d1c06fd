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
	"linkledger/robots"
)

// Name is the name of the projection.
const Name = "dimensions"

// minDelay is the shortest time between two batches of a live projection. It is short because
// callers that ask for recent clicks wait for the next batch.
const minDelay = 100 * time.Millisecond

// maxDelay is how long clicks may wait to be counted by dimension under heavy load. The longer they
// wait, the more clicks of a batch add to the same rows.
const maxDelay = 5 * time.Second

// Projection returns the projection of the clicks by dimension.
func Projection() projection.Definition { return Bounded(readmodel.MaxValues) }

// Bounded returns the projection in which a dimension has up to most values for one link on one
// day.
func Bounded(most int) projection.Definition {
	return projection.Definition{
		Name: Name,
		Filter: projection.Types(
			events.ClicksRecorded{}, events.URLStatsReset{}, events.URLStatsRestored{},
		),
		Folds: projection.FoldsGiven(func(given projection.Given) projection.Fold {
			return newDimensionFold(most, given.Judgement)
		}),
		Judges:       true,
		Buffered:     true,
		NeverAwaited: true, MinDelay: minDelay, MaxDelay: maxDelay,
	}
}

// dimensionFold counts clicks by dimension. The projection of links counts the same clicks.
// Dimensions have a projection of their own so that the projection of links has no more work to do.
type dimensionFold struct {
	counts clickcount.Fold
}

func newDimensionFold(most int, judgement *robots.Judgement) projection.Fold {
	return &dimensionFold{clickcount.Fold{
		Judgement: judgement,
		Begin: func() clickcount.Clicks {
			return &dimensionClicks{most: most, row: make(map[dimensionValue]int)}
		},
		Reset: resetDimensions,
		Restore: func(s *sqlbatch.Batch, resets clickcount.Resets) {
			restoreDimensions(s, resets, most)
		},
	}}
}

// Read queues nothing, because the statements of Write add to the rows without reading them first.
func (d *dimensionFold) Read(*sqlbatch.Batch, []projection.Event) {}

func (d *dimensionFold) Apply(event projection.Event) error {
	switch e := event.Body.(type) {
	case events.ClicksRecorded:
		return d.counts.Add(e)
	case events.URLStatsReset, events.URLStatsRestored:
		return d.counts.Apply(event)
	}
	return projection.Unexpected(event)
}

func (d *dimensionFold) Size() int { return d.counts.Size() }

func (d *dimensionFold) Write(s *sqlbatch.Batch) []string {
	d.counts.Write(s)
	return nil
}

// dimensionClicks sums up clicks in columns. The rows are in the order in which the values arrive,
// because the first values get a row of their own in the table.
type dimensionClicks struct {
	most             int                    // values of a dimension for one link on one day
	row              map[dimensionValue]int // index in the columns
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

func (d *dimensionClicks) Add(batch events.ClicksRecorded, judgement *robots.Judgement) error {
	return clickcount.EachCounted(batch, judgement, func(
		link uuid.UUID, click events.Click, on clickcount.Day,
	) {
		for _, pair := range [...]struct{ dimension, value string }{
			{readmodel.DimensionReferrer, click.Referrer},
			{readmodel.DimensionCountry, click.Country},
			{readmodel.DimensionBrowser, click.Browser},
			{readmodel.DimensionOS, click.OS},
			{readmodel.DimensionDevice, click.Device},
		} {
			if pair.value != "" {
				d.count(dimensionValue{link, on, pair.dimension, pair.value})
			}
		}
	})
}

func (d *dimensionClicks) count(v dimensionValue) {
	row, ok := d.row[v]
	if !ok {
		row = len(d.link)
		v.value = strings.Clone(v.value) // so that the event can be freed
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
		WITH added AS (
			SELECT url_id, date 'epoch' + day AS day, dimension, value, clicks, arrival
			FROM unnest($2::uuid[], $3::int[], $4::text[], $5::text[], $6::bigint[]) WITH ORDINALITY
				AS f (url_id, day, dimension, value, clicks, arrival))`+addDimensions,
		d.most, d.link, d.day, d.dimension, d.value, d.clicks)
}

// addDimensions is the end of a statement whose CTE "added" has the clicks to add: each value once,
// numbered by arrival. A new value gets a row if its link, day and dimension have fewer than $1
// rows, and keeps that row. The clicks of all other values go to the row "other".
//
// It is one statement because the rank of a new value depends on the rows that exist. First it
// updates existing rows. Then it ranks the values that have no row after those that have one, and
// inserts only the former. "other" does not count as a value. It may have a row already, so the
// INSERT has ON CONFLICT.
const addDimensions = `,
	existing AS (
		UPDATE ?schema.click_dimensions AS d SET clicks = d.clicks + f.clicks FROM added AS f
		WHERE d.url_id = f.url_id AND d.day = f.day AND d.dimension = f.dimension
			AND d.value = f.value AND f.value <> 'other'
		RETURNING f.arrival),
	ranked AS (
		SELECT url_id, day, dimension, value, clicks,
			count(*) FILTER (WHERE value <> 'other')
				OVER (PARTITION BY url_id, day, dimension ORDER BY arrival) + (
				SELECT count(*) FROM ?schema.click_dimensions AS d
				WHERE d.url_id = f.url_id AND d.day = f.day AND d.dimension = f.dimension
					AND d.value <> 'other') AS rank
		FROM added AS f WHERE arrival NOT IN (SELECT arrival FROM existing))
	INSERT INTO ?schema.click_dimensions AS d (url_id, day, dimension, value, clicks)
	SELECT url_id, day, dimension, CASE WHEN rank > $1::bigint THEN 'other' ELSE value END,
		sum(clicks)
	FROM ranked GROUP BY 1, 2, 3, 4
	ON CONFLICT (url_id, day, dimension, value) DO UPDATE SET
		clicks = d.clicks + EXCLUDED.clicks`

// resetDimensions moves the clicks of links to the table of reset clicks.
func resetDimensions(s *sqlbatch.Batch, resets clickcount.Resets) {
	s.Queue(`
		WITH resets AS ( -- the first of several resets takes all clicks
			SELECT url_id, min(reset) AS reset
			FROM unnest($1::uuid[], $2::bigint[]) AS r (url_id, reset) GROUP BY url_id),
		taken AS (
			DELETE FROM ?schema.click_dimensions AS d USING resets AS r WHERE d.url_id = r.url_id
			RETURNING d.url_id, r.reset, d.day, d.dimension, d.value, d.clicks)
		INSERT INTO ?schema.reset_dimensions SELECT * FROM taken`, resets.Link, resets.Revision)
}

// restoreDimensions undoes resets: it adds the clicks that they took away to the clicks since then.
// The clicks of the reset that is undone first are added first, because the order decides which
// values get a row. Several resets of a link may have clicks of the same value. They are summed up
// first, because addDimensions needs each value once.
func restoreDimensions(s *sqlbatch.Batch, resets clickcount.Resets, most int) {
	s.Queue(`
		WITH resets AS (
			SELECT * FROM unnest($2::uuid[], $3::bigint[]) WITH ORDINALITY
				AS r (url_id, reset, turn)),
		taken AS (
			DELETE FROM ?schema.reset_dimensions AS d USING resets AS r
			WHERE d.url_id = r.url_id AND d.reset = r.reset
			RETURNING d.url_id, d.day, d.dimension, d.value, d.clicks, r.turn),
		added AS (
			SELECT url_id, day, dimension, value, sum(clicks) AS clicks, min(arrival) AS arrival
			FROM (SELECT *, row_number() OVER (ORDER BY turn, value) AS arrival FROM taken) AS t
			GROUP BY 1, 2, 3, 4)`+addDimensions,
		most, resets.Link, resets.Revision)
}
