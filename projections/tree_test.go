package projections

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"golang.org/x/mod/sumdb/tlog"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/proof"
	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
)

// checkTree compares the tiles with the reference implementation.
func (h *drawnHistory) checkTree(ctx context.Context, db *bun.DB) { checkTiles(ctx, h.t, db, h.log) }

func checkTiles(ctx context.Context, t fatalf, db bun.IDB, log []eventstore.Recorded) {
	t.Helper()
	var stored []tlog.Hash
	reader := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		hashes := make([]tlog.Hash, len(indexes))
		for i, index := range indexes {
			hashes[i] = stored[index]
		}
		return hashes, nil
	})
	for n, r := range log {
		hashes, err := tlog.StoredHashes(int64(n), proof.AppendLine(nil, r), reader)
		if err != nil {
			t.Fatalf("leaf %d: %v", n, err)
		}
		stored = append(stored, hashes...)
	}
	var tiles []readmodel.TreeTile
	if err := db.NewRaw("SELECT * FROM ?schema.tree_tiles ORDER BY level, number").Scan(ctx, &tiles); err != nil {
		t.Fatalf("tiles: %v", err)
	}
	wanted := tlog.NewTiles(readmodel.TreeHeight, 0, int64(len(log)))
	if len(tiles) != len(wanted) {
		t.Fatalf("%d events have %d tiles, want %d", len(log), len(tiles), len(wanted))
	}
	for i, want := range wanted {
		data, err := tlog.ReadTileData(want, reader)
		if err != nil {
			t.Fatalf("tile %s: %v", want.Path(), err)
		}
		began := log[want.N<<((want.L+1)*readmodel.TreeHeight)+(1<<(want.L*readmodel.TreeHeight))-1].Position
		if got := tiles[i]; got.Level != want.L || got.Number != want.N || !slices.Equal(got.Hashes, data) ||
			got.CommitPos != sqlbatch.Signed(began.Commit) || got.PreparePos != sqlbatch.Signed(began.Prepare) {
			t.Fatalf("tile %s is %+v", want.Path(), got)
		}
	}
}

// TestTreeOfManyTiles fills tiles on two levels, from batches of different sizes.
func TestTreeOfManyTiles(t *testing.T) {
	t.Parallel()
	ctx := withTimeout(t)
	w := newWorkshop(t, Tree)
	var log []eventstore.Recorded
	for i := range 1<<(2*readmodel.TreeHeight) + 300 {
		at := uint64(100 * (i + 1))
		log = append(log, eventstore.Recorded{
			ID: uuid.New(), Stream: events.StreamURL + "x", Revision: eventstore.Revision(i),
			Position: eventstore.Position{Commit: at, Prepare: at},
			// This program does not define this type.
			Type: "of.nobody.v1", Time: noon, Data: fmt.Appendf(nil, `{"n":%d}`, i),
		})
	}
	for _, size := range []int{1, 255, 256, 257, 5000} {
		w.startOver(ctx, t)
		building := size == 5000
		p := w.projectorWith(ctx, t, inBulk(building))
		rest := log[:600]
		if building {
			rest = log
		}
		for batch := range slices.Chunk(rest, size) {
			mustHandle(ctx, t, p, batch)
		}
		checkTiles(ctx, t, w.db.WithNamedArg("schema", bun.Ident(readmodel.GenerationSchema(Tree, w.generation))), rest)
		w.drop(ctx, t)
	}
}
