package activity_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"pgregory.net/rapid"

	"linkledger/events"
	"linkledger/projections"
	"linkledger/projections/foldtest"
	"linkledger/projections/logtest"
	"linkledger/projections/readmodel"
)

// TestFold draws histories, delivers them in all ways, and compares the calls with the expected ones.
func TestFold(t *testing.T) {
	t.Parallel()
	w := foldtest.New(t, projections.Activity)
	rapid.Check(t, func(t *rapid.T) {
		h := logtest.Draw(t)
		w.FoldInAllWays(t, h.Log, func(ctx context.Context) {
			checkActivity(ctx, h, w.Rows())
		})
	})
}

// checkActivity compares the calls with those that the events of links belong to. Nothing else in a
// drawn history has a batch.
func checkActivity(ctx context.Context, h *logtest.History, db *bun.DB) {
	var rows []readmodel.Activity
	if err := db.NewSelect().Model(&rows).ModelTableExpr("?schema.activity AS activity").Scan(ctx); err != nil {
		h.T.Fatalf("activity: %v", err)
	}
	calls := make(map[uuid.UUID]*readmodel.Activity)
	for _, r := range h.Log {
		var m events.Metadata
		_ = json.Unmarshal(r.Metadata, &m)
		batch, err := uuid.Parse(m.BatchID)
		kind := strings.Split(r.Type, ".")
		if err != nil || kind[0] != "url" || strings.HasSuffix(kind[1], "_abandoned") {
			continue
		}
		if calls[batch] == nil {
			calls[batch] = &readmodel.Activity{
				Batch: batch, AccountID: uuid.MustParse(m.Account), At: r.Time, Position: int64(r.Position.Commit),
				Key: m.Key, Via: m.Way(),
			}
			calls[batch].User, _ = uuid.Parse(m.User)
			calls[batch].Undoes, _ = uuid.Parse(m.Undoes)
		}
		call := calls[batch]
		if call.LastAt = r.Time; call.LastStream == r.Stream {
			continue
		}
		call.LastStream = r.Stream
		switch kind[1] {
		case "created":
			call.Created++
		case "deleted":
			call.Deleted++
		case "restored", "stats_restored":
			call.Restored++
		case "stats_reset":
			call.Reset++
		default:
			call.Edited++
		}
	}
	if len(rows) != len(calls) {
		h.T.Fatalf("%d calls, want %d", len(rows), len(calls))
	}
	for _, row := range rows {
		want := *calls[row.Batch]
		row.At, row.LastAt = row.At.UTC(), row.LastAt.UTC()
		if row != want {
			h.T.Fatalf("call %+v, want %+v", row, want)
		}
	}
}
