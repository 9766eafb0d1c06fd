package tags_test

import (
	"context"
	"testing"

	"github.com/uptrace/bun"
	"pgregory.net/rapid"

	"linkledger/projections"
	"linkledger/projections/foldtest"
	"linkledger/projections/logtest"
	"linkledger/projections/readmodel"
)

// TestFold draws histories, delivers them in all ways, and compares the tags with the expected ones.
func TestFold(t *testing.T) {
	t.Parallel()
	w := foldtest.New(t, projections.Tags)
	rapid.Check(t, func(t *rapid.T) {
		h := logtest.Draw(t)
		w.FoldInAllWays(t, h.Log, func(ctx context.Context) {
			checkTags(ctx, h, w.Rows())
		})
	})
}

func checkTags(ctx context.Context, h *logtest.History, db *bun.DB) {
	for _, a := range h.Accounts {
		var rows []readmodel.Tag
		if err := db.NewSelect().Model(&rows).ModelTableExpr("?schema.tags AS tag").Where("account_id = ?", a.ID).
			Order("position").Scan(ctx); err != nil {
			h.T.Fatalf("tags: %v", err)
		}
		if len(rows) != len(a.Tags) {
			h.T.Fatalf("%d tags, want %d", len(rows), len(a.Tags))
		}
		for i, row := range rows {
			if row.ID != a.Tags[i] || row.Label != a.Labels[row.ID] {
				h.T.Fatalf("tag %+v, want %s %q", row, a.Tags[i], a.Labels[a.Tags[i]])
			}
		}
	}
}
