package counters_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/projections"
	"linkledger/projections/foldtest"
	"linkledger/projections/logtest"
	"linkledger/projections/projectionstest"
	"linkledger/projections/readmodel"
)

// TestRotationAcrossAReset checks that a visitor with hashes under two keys counts once, even if a
// reset of the statistics between the visits is undone.
func TestRotationAcrossAReset(t *testing.T) { //nolint:tparallel // its cases share one database
	t.Parallel()
	ctx := projectionstest.Context(t)
	w := foldtest.New(t, projections.Links)
	former, present := events.Click{Visitor: "old"}, events.Click{Visitor: "new"}
	both := events.Click{Visitor: "new", Former: "old"}
	for name, test := range map[string]struct { //nolint:paralleltest // one after the other, in one database
		before, after []events.Click
		unique        int64
	}{
		"known under both, twice":      {[]events.Click{both, present}, []events.Click{both, former}, 1},
		"rotated between":              {[]events.Click{former}, []events.Click{both}, 1},
		"rotated before":               {[]events.Click{former, both}, []events.Click{present}, 1},
		"did not come while rotated":   {[]events.Click{former}, []events.Click{present}, 2},
		"under the present one before": {[]events.Click{present, both}, []events.Click{both}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			link := uuid.NewString()
			stream := events.StreamURL + link
			log := logtest.Record(
				nil, stream, 0, events.URLCreated{URLID: link, Account: uuid.NewString(), Hash: "h", At: logtest.Noon},
			)
			var clicks eventstore.Revision
			visit := func(visits []events.Click, at time.Time) {
				for _, click := range visits {
					click.URLID, click.At = link, at
					log = logtest.Record(
						log, events.StreamClicks+"a", clicks, events.ClicksRecorded{Clicks: []events.Click{click}},
					)
					clicks++
				}
			}
			visit(test.before, logtest.Noon)
			log = logtest.Record(log, stream, 1, events.URLStatsReset{At: logtest.Noon})
			visit(test.after, logtest.Noon.AddDate(0, 0, 1))
			log = logtest.Record(log, stream, 2, events.URLStatsRestored{Reset: 1, At: logtest.Noon})
			p := w.Empty(ctx, t)
			for i := range log {
				foldtest.Apply(ctx, t, p, log[i:i+1])
			}
			schema := bun.Ident(readmodel.GenerationSchema(projections.Links, w.Generation))
			for _, statement := range []string{
				"SELECT unique_clicks FROM ?.link_stats", "SELECT sum(unique_clicks)::bigint FROM ?.link_days",
			} {
				if n := projectionstest.Count(t, w.DB, statement, schema); n != test.unique {
					t.Errorf("%s: %d, want %d", statement, n, test.unique)
				}
			}
		})
	}
}
