package queries

import (
	"testing"

	"github.com/google/uuid"

	"linkledger/projections/readmodel"
	"linkledger/queries/queriestest"
)

func TestDailyClicks(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), queriestest.WithTimeout(t)
	queriestest.Insert(
		t, w.DB, &readmodel.LinkDay{URLID: w.Deleted.ID, Day: queriestest.Noon, TotalClicks: 7, UniqueClicks: 6},
	)
	days, err := w.q.DailyClicks(ctx, []uuid.UUID{w.Full.ID, w.Bare.ID, w.Deleted.ID, uuid.New()})
	if err != nil {
		t.Fatal(err)
	}
	queriestest.EqualJSON(t, days, map[uuid.UUID][]Day{
		w.Full.ID:    {{Date: "2026-03-30", Total: 3, Unique: 2}, {Date: "2026-03-31", Total: 2, Unique: 0}},
		w.Deleted.ID: {{Date: "2026-03-31", Total: 7, Unique: 6}},
	})
	if days, err := w.q.DailyClicks(ctx, nil); err != nil || len(days) != 0 {
		t.Errorf("no links: %v, %v", days, err)
	}
}
