package counters_test

import (
	"context"
	"errors"
	"testing"

	"github.com/uptrace/bun"
	"pgregory.net/rapid"

	"linkledger/projections"
	"linkledger/projections/foldtest"
	"linkledger/projections/logtest"
	"linkledger/projections/readmodel"
)

// TestFold draws histories, delivers them in all ways, and compares the counters with the expected ones.
func TestFold(t *testing.T) {
	t.Parallel()
	w := foldtest.New(t, projections.Links)
	rapid.Check(t, func(t *rapid.T) {
		h := logtest.Draw(t)
		w.FoldInAllWays(t, h.Log, func(ctx context.Context) {
			checkClicks(ctx, h, w.Rows())
		})
	})
}

func checkClicks(ctx context.Context, h *logtest.History, db *bun.DB) {
	for _, want := range h.Links {
		var stats []readmodel.LinkStats
		var days []readmodel.LinkDay
		err := errors.Join(
			db.NewSelect().Model(&stats).ModelTableExpr("?schema.link_stats AS stats").Where(
				"url_id = ?", want.ID,
			).Scan(ctx),
			db.NewSelect().Model(&days).ModelTableExpr("?schema.link_days AS day").Where("url_id = ?", want.ID).
				OrderExpr("day.day").Scan(ctx))
		if err != nil {
			h.T.Fatalf("clicks: %v", err)
		}
		if len(days) != len(want.Days) {
			h.T.Fatalf("days %+v, want %v", days, want.Days)
		}
		if !want.Visited {
			if len(stats) != 1 || stats[0].Visited || stats[0].TotalClicks != 0 {
				h.T.Fatalf("a link without visits has %v", stats)
			}
			continue
		}
		s := stats[0]
		uniques, visitors := want.Uniques()
		if s.TotalClicks != want.Clicks || s.UniqueClicks != visitors || !s.Visited || !s.LastVisit.Equal(want.Last) {
			h.T.Fatalf("stats %+v, want %d clicks of %d visitors until %s", s, want.Clicks, visitors, want.Last)
		}
		for _, d := range days {
			day := d.Day.Format("2006-01-02")
			if d.TotalClicks != want.Days[day] || d.UniqueClicks != uniques[day] {
				h.T.Fatalf("day %+v, want %d and %d", d, want.Days[day], uniques[day])
			}
		}
	}
}
