package tree_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/proof/leaf"
	"linkledger/projections"
	"linkledger/projections/foldtest"
	"linkledger/projections/logtest"
	"linkledger/projections/projectionstest"
	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
)

// TestFold draws histories, delivers them in all ways, and compares the tiles with the reference implementation.
func TestFold(t *testing.T) {
	t.Parallel()
	w := foldtest.New(t, projections.Tree)
	rapid.Check(t, func(t *rapid.T) {
		h := logtest.Draw(t)
		w.FoldInAllWays(t, h.Log, func(ctx context.Context) {
			checkTiles(ctx, t, w.Rows(), h.Log)
		})
	})
}

// checkTiles compares the tiles with the reference implementation.
func checkTiles(ctx context.Context, t projectionstest.T, db bun.IDB, log []eventstore.Recorded) {
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
		hashes, err := tlog.StoredHashes(int64(n), leaf.Append(nil, r), reader)
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
	ctx := projectionstest.Context(t)
	w := foldtest.New(t, projections.Tree)
	var log []eventstore.Recorded
	for i := range 1<<(2*readmodel.TreeHeight) + 300 {
		at := uint64(100 * (i + 1))
		log = append(log, eventstore.Recorded{
			ID: uuid.New(), Stream: events.StreamURL + "x", Revision: eventstore.Revision(i),
			Position: eventstore.Position{Commit: at, Prepare: at},
			// This program does not define this type.
			Type: "of.nobody.v1", Time: logtest.Noon, Data: fmt.Appendf(nil, `{"n":%d}`, i),
		})
	}
	for _, size := range []int{1, 255, 256, 257, 5000} {
		w.StartOver(ctx, t)
		building := size == 5000
		p := w.Projector(ctx, t, foldtest.InBulk(building))
		rest := log[:600]
		if building {
			rest = log
		}
		for batch := range slices.Chunk(rest, size) {
			foldtest.Apply(ctx, t, p, batch)
		}
		checkTiles(ctx, t, w.Rows(), rest)
		w.Drop(ctx, t)
	}
}
