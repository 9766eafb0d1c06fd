package projections

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"pgregory.net/rapid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/projections/dimensions"
	"linkledger/projections/readmodel"
)

// dimensionCounts are the expected clicks of a link by value, for each "<day> <dimension>".
type dimensionCounts map[string]map[string]int64

// Add counts clicks of a value. If the maximum number of values, most, is reached, it counts clicks
// of a new value under OtherValues.
func (d dimensionCounts) Add(of, value string, clicks int64, most int) {
	values := d[of]
	if values == nil {
		values = make(map[string]int64)
		d[of] = values
	}
	rows := len(values)
	if _, ok := values[readmodel.OtherValues]; ok {
		rows--
	}
	if _, ok := values[value]; !ok && rows >= most {
		value = readmodel.OtherValues
	}
	values[value] += clicks
}

// addDimensions sets random dimensions of a click and adds them to the link's counts.
func (h *drawnHistory) addDimensions(l *expectedLink, c *events.Click) {
	for _, pair := range []struct {
		dimension string
		value     *string
	}{
		{readmodel.DimensionReferrer, &c.Referrer},
		{readmodel.DimensionCountry, &c.Country},
		{readmodel.DimensionBrowser, &c.Browser},
		{readmodel.DimensionOS, &c.OS},
		{readmodel.DimensionDevice, &c.Device},
	} {
		*pair.value = rapid.SampledFrom([]string{"", "a.example", "B", "c", "ü '{}", "other"}).Draw(h.t, pair.dimension)
		if *pair.value != "" {
			l.dimensions.Add(c.At.Format(time.DateOnly)+" "+pair.dimension, *pair.value, 1, h.most)
		}
	}
}

func (h *drawnHistory) checkDimensions(ctx context.Context, db *bun.DB) {
	for _, want := range h.links {
		var rows []readmodel.ClickDimension
		if err := db.NewSelect().Model(&rows).ModelTableExpr("?schema.click_dimensions AS dimension").
			Where("url_id = ?", want.id).Scan(ctx); err != nil {
			h.t.Fatalf("dimensions: %v", err)
		}
		got := make(dimensionCounts)
		for _, row := range rows {
			got.Add(row.Day.Format(time.DateOnly)+" "+row.Dimension, row.Value, row.Clicks, len(rows))
		}
		if fmt.Sprint(got) != fmt.Sprint(want.dimensions) { // Sprint prints maps in the order of their keys
			h.t.Fatalf("dimensions\n%v, want\n%v", got, want.dimensions)
		}
	}
}

// TestDimensionsAreBounded draws histories with more values than the bound. It checks that the
// values that have rows depend only on the order of the log, even if resets are undone.
func TestDimensionsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, Dimensions)
	const most = 2
	w.projection = dimensions.Bounded(most)
	rapid.Check(t, func(t *rapid.T) { w.foldInAllWays(t, drawHistoryOf(t, most)) })
}

// TestUndoneResetBeyondTheBound restores more values than the bound allows. It checks that the
// existing values stay, and that the restored ones are added in alphabetical order.
func TestUndoneResetBeyondTheBound(t *testing.T) {
	t.Parallel()
	ctx := withTimeout(t)
	w := newWorkshop(t, Dimensions)
	w.projection = dimensions.Bounded(3)
	link := uuid.NewString()
	stream := events.StreamURL + link
	click := func(referrers ...string) (e events.ClicksRecorded) {
		for _, referrer := range referrers {
			e.Clicks = append(e.Clicks, events.Click{URLID: link, Referrer: referrer, At: noon})
		}
		return e
	}
	log := record(nil, events.StreamClicks+"a", 0, click("d", "b", "c", "e"))
	log = record(log, stream, 1, events.URLStatsReset{At: noon})
	log = record(log, events.StreamClicks+"a", 1, click("a", "d"))
	log = record(log, stream, 2, events.URLStatsRestored{Reset: 1, At: noon})
	mustHandle(ctx, t, w.projector(ctx, t), log)
	var rows []string
	if err := w.db.NewRaw("SELECT value || ' ' || clicks FROM linkledger.click_dimensions ORDER BY 1").Scan(
		ctx, &rows,
	); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(rows), "[a 1 b 1 d 2 other 2]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestDimensionsOfSpam counts clicks with more referrers than the bound allows.
func TestDimensionsOfSpam(t *testing.T) {
	t.Parallel()
	ctx := withTimeout(t)
	w := newWorkshop(t, Dimensions)
	link := uuid.NewString()
	var spam events.ClicksRecorded
	for i := range 3 * readmodel.MaxValues {
		spam.Clicks = append(
			spam.Clicks, events.Click{URLID: link, Referrer: fmt.Sprint(i, ".example"), Country: "DE", At: noon},
		)
	}
	log := record(nil, events.StreamClicks+"a", 0, spam, spam)
	mustHandle(ctx, t, w.projector(ctx, t), log)
	for statement, want := range map[string]int64{
		"SELECT count(*) FROM linkledger.click_dimensions WHERE dimension = 'referrer' AND clicks = 2": readmodel.MaxValues,
		"SELECT clicks FROM linkledger.click_dimensions WHERE value = 'other'": 4 *
			readmodel.MaxValues,
		"SELECT clicks FROM linkledger.click_dimensions WHERE value = 'DE'": 6 * readmodel.MaxValues,
		"SELECT count(*) FROM linkledger.click_dimensions":                  readmodel.MaxValues + 2,
	} {
		if n := count(t, w.db, statement); n != want {
			t.Errorf("%s: %d, want %d", statement, n, want)
		}
	}
}

// BenchmarkDimensions applies the clicks of half a second under heavy load. The clicks have all
// dimensions except the country.
func BenchmarkDimensions(b *testing.B) {
	for _, links := range []int{1, 1000, 10_000} {
		b.Run(fmt.Sprintf("links=%d", links), func(b *testing.B) {
			const clicks, group = 13_000, 130
			w := newWorkshop(b, Dimensions)
			var batch []events.Event
			for i := range clicks / group {
				var e events.ClicksRecorded
				for j := range group {
					n := i*group + j
					e.Clicks = append(e.Clicks, events.Click{
						URLID: uuid.NewSHA1(uuid.Nil, fmt.Append(nil, n*7919%links)).String(), At: noon,
						Referrer: fmt.Sprint(n%20, ".example"), Browser: fmt.Sprint("browser ", n%5),
						OS: fmt.Sprint("os ", n%4), Device: fmt.Sprint("device ", n%3),
					})
				}
				batch = append(batch, e)
			}
			p := w.projector(b.Context(), b)
			var log []eventstore.Recorded
			for b.Loop() {
				next := record(log, events.StreamClicks+"a", eventstore.Revision(0), batch...)
				mustHandle(b.Context(), b, p, next[len(log):])
				log = next[len(next)-1:]
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(clicks*b.N), "ns/click")
		})
	}
}
