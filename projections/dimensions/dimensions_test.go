package dimensions_test

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
	"linkledger/projections"
	"linkledger/projections/dimensions"
	"linkledger/projections/foldtest"
	"linkledger/projections/logtest"
	"linkledger/projections/projectionstest"
	"linkledger/projections/readmodel"
)

// TestFold draws histories, delivers them in all ways, and compares the counts with the expected ones.
func TestFold(t *testing.T) {
	t.Parallel()
	w := foldtest.New(t, projections.Dimensions)
	rapid.Check(t, func(t *rapid.T) {
		h := logtest.Draw(t)
		w.FoldInAllWays(t, h.Log, func(ctx context.Context) {
			checkDimensions(ctx, h, w.Rows())
		})
	})
}

func checkDimensions(ctx context.Context, h *logtest.History, db *bun.DB) {
	for _, want := range h.Links {
		var rows []readmodel.ClickDimension
		if err := db.NewSelect().Model(&rows).ModelTableExpr("?schema.click_dimensions AS dimension").
			Where("url_id = ?", want.ID).Scan(ctx); err != nil {
			h.T.Fatalf("dimensions: %v", err)
		}
		got := make(logtest.Dimensions)
		for _, row := range rows {
			got.Add(row.Day.Format(time.DateOnly)+" "+row.Dimension, row.Value, row.Clicks, len(rows))
		}
		if fmt.Sprint(got) != fmt.Sprint(want.Dimensions) { // Sprint prints maps in the order of their keys
			h.T.Fatalf("dimensions\n%v, want\n%v", got, want.Dimensions)
		}
	}
}

// TestDimensionsAreBounded draws histories with more values than the bound. It checks that the
// values that have rows depend only on the order of the log, even if resets are undone.
func TestDimensionsAreBounded(t *testing.T) {
	t.Parallel()
	w := foldtest.New(t, projections.Dimensions)
	const most = 2
	w.Projection = dimensions.Bounded(most)
	rapid.Check(t, func(t *rapid.T) {
		h := logtest.DrawBounded(t, most)
		w.FoldInAllWays(t, h.Log, func(ctx context.Context) { checkDimensions(ctx, h, w.Rows()) })
	})
}

// TestUndoneResetBeyondTheBound restores more values than the bound allows. It checks that the
// existing values stay, and that the restored ones are added in alphabetical order.
func TestUndoneResetBeyondTheBound(t *testing.T) {
	t.Parallel()
	ctx := projectionstest.Context(t)
	w := foldtest.New(t, projections.Dimensions)
	w.Projection = dimensions.Bounded(3)
	link := uuid.NewString()
	stream := events.StreamURL + link
	click := func(referrers ...string) (e events.ClicksRecorded) {
		for _, referrer := range referrers {
			e.Clicks = append(e.Clicks, events.Click{URLID: link, Referrer: referrer, At: logtest.Noon})
		}
		return e
	}
	log := logtest.Record(nil, events.StreamClicks+"a", 0, click("d", "b", "c", "e"))
	log = logtest.Record(log, stream, 1, events.URLStatsReset{At: logtest.Noon})
	log = logtest.Record(log, events.StreamClicks+"a", 1, click("a", "d"))
	log = logtest.Record(log, stream, 2, events.URLStatsRestored{Reset: 1, At: logtest.Noon})
	foldtest.Apply(ctx, t, w.Projector(ctx, t), log)
	var rows []string
	if err := w.DB.NewRaw("SELECT value || ' ' || clicks FROM linkledger.click_dimensions ORDER BY 1").Scan(
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
	ctx := projectionstest.Context(t)
	w := foldtest.New(t, projections.Dimensions)
	link := uuid.NewString()
	var spam events.ClicksRecorded
	for i := range 3 * readmodel.MaxValues {
		spam.Clicks = append(
			spam.Clicks, events.Click{URLID: link, Referrer: fmt.Sprint(i, ".example"), Country: "DE", At: logtest.Noon},
		)
	}
	log := logtest.Record(nil, events.StreamClicks+"a", 0, spam, spam)
	foldtest.Apply(ctx, t, w.Projector(ctx, t), log)
	for statement, want := range map[string]int64{
		"SELECT count(*) FROM linkledger.click_dimensions WHERE dimension = 'referrer' AND clicks = 2": readmodel.MaxValues,
		"SELECT clicks FROM linkledger.click_dimensions WHERE value = 'other'": 4 *
			readmodel.MaxValues,
		"SELECT clicks FROM linkledger.click_dimensions WHERE value = 'DE'": 6 * readmodel.MaxValues,
		"SELECT count(*) FROM linkledger.click_dimensions":                  readmodel.MaxValues + 2,
	} {
		if n := projectionstest.Count(t, w.DB, statement); n != want {
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
			w := foldtest.New(b, projections.Dimensions)
			var batch []events.Event
			for i := range clicks / group {
				var e events.ClicksRecorded
				for j := range group {
					n := i*group + j
					e.Clicks = append(e.Clicks, events.Click{
						URLID: uuid.NewSHA1(uuid.Nil, fmt.Append(nil, n*7919%links)).String(), At: logtest.Noon,
						Referrer: fmt.Sprint(n%20, ".example"), Browser: fmt.Sprint("browser ", n%5),
						OS: fmt.Sprint("os ", n%4), Device: fmt.Sprint("device ", n%3),
					})
				}
				batch = append(batch, e)
			}
			p := w.Projector(b.Context(), b)
			var log []eventstore.Recorded
			for b.Loop() {
				next := logtest.Record(log, events.StreamClicks+"a", eventstore.Revision(0), batch...)
				foldtest.Apply(b.Context(), b, p, next[len(log):])
				log = next[len(next)-1:]
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(clicks*b.N), "ns/click")
		})
	}
}
