package queries

import (
	"testing"

	"github.com/google/uuid"

	"linkledger/projections/readmodel"
)

func TestDailyClicks(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), withPatience(t)
	insert(t, w.db, &readmodel.LinkDay{URLID: w.deleted.ID, Day: noon, TotalClicks: 7, UniqueClicks: 6})
	days, err := w.q.DailyClicks(ctx, []uuid.UUID{w.full.ID, w.bare.ID, w.deleted.ID, uuid.New()})
	if err != nil {
		t.Fatal(err)
	}
	same(t, days, map[uuid.UUID][]Day{
		w.full.ID:    {{Date: "2026-03-30", Total: 3, Unique: 2}, {Date: "2026-03-31", Total: 2, Unique: 0}},
		w.deleted.ID: {{Date: "2026-03-31", Total: 7, Unique: 6}},
	})
	if days, err := w.q.DailyClicks(ctx, nil); err != nil || len(days) != 0 {
		t.Errorf("no links: %v, %v", days, err)
	}
}
