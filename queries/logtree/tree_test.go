package logtree

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"linkledger/projections/readmodel"
	"linkledger/queries"
	"linkledger/queries/queriestest"
)

// fillTree writes the tiles of a tree of n leaves. The events of the leaves are at the positions
// 10, 20, 30 and so on.
func fillTree(t *testing.T, db *readmodel.DB, n int64) (leaves []tlog.Hash, hashes tlog.HashReader) {
	t.Helper()
	var stored []tlog.Hash
	reader := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		found := make([]tlog.Hash, len(indexes))
		for i, index := range indexes {
			found[i] = stored[index]
		}
		return found, nil
	})
	for i := range n {
		leaves = append(leaves, tlog.RecordHash(fmt.Append(nil, i)))
		more, err := tlog.StoredHashesForRecordHash(i, leaves[i], reader)
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, more...)
	}
	var tiles []any
	for _, tile := range tlog.NewTiles(readmodel.TreeHeight, 0, n) {
		data, err := tlog.ReadTileData(tile, reader)
		if err != nil {
			t.Fatal(err)
		}
		began := tile.N<<((tile.L+1)*readmodel.TreeHeight) + 1<<(tile.L*readmodel.TreeHeight)
		tiles = append(
			tiles,
			&readmodel.TreeTile{
				Level: tile.L, Number: tile.N, Hashes: data, CommitPos: 10 * began, PreparePos: 10 * began,
			},
		)
	}
	queriestest.Insert(t, db, tiles...)
	return leaves, reader
}

func TestTree(t *testing.T) {
	t.Parallel()
	ctx, db := queriestest.WithTimeout(t), queriestest.OpenDatabase(t)
	q := New(db)
	if tree, err := q.Tree(ctx); tree != (Tree{}) || err != nil {
		t.Fatalf("an empty tree: %+v, %v", tree, err)
	}
	const n = 2*256 + 7
	leaves, reader := fillTree(t, db, n)
	if _, err := db.ExecContext(
		ctx, "UPDATE linkledger.generations SET commit_pos = 7000, prepare_pos = 6000 WHERE name = 'tree'",
	); err != nil {
		t.Fatal(err)
	}
	if tree, err := q.Tree(ctx); tree != (Tree{Size: n, Commit: 7000, Prepare: 6000}) || err != nil {
		t.Errorf("tree %+v, %v", tree, err)
	}
	for size := range int64(n + 1) {
		want, err := tlog.TreeHash(size, reader)
		if err != nil {
			t.Fatal(err)
		}
		if root, err := tlog.TreeHash(size, q.Hashes(ctx)); root != want || err != nil {
			t.Fatalf("root of %d leaves: %s, %v", size, root, err)
		}
	}
	if _, err := tlog.TreeHash(n+1, q.Hashes(ctx)); err == nil {
		t.Error("a tree that is larger than the stored one has a hash")
	}
	for from := range int64(n + 2) {
		read, err := q.Leaves(ctx, from)
		if err != nil || len(read) != int(max(0, n-from))*tlog.HashSize ||
			from < n && tlog.Hash(read[:tlog.HashSize]) != leaves[from] {
			t.Fatalf("%d bytes of leaves from %d on, %v", len(read), from, err)
		}
	}
}

func TestLeafIndexes(t *testing.T) {
	t.Parallel()
	ctx, db := queriestest.WithTimeout(t), queriestest.OpenDatabase(t)
	q := New(db)
	leaves, _ := fillTree(t, db, 600)
	var at []uint64
	var asked []tlog.Hash
	want := []int64{599, 0, 1, 255, 256, 511, 512, 0}
	for _, i := range want {
		at, asked = append(at, 10*uint64(i+1)), append(asked, leaves[i])
	}
	if indexes, err := q.LeafIndexes(ctx, at, at, asked); !slices.Equal(indexes, want) || err != nil {
		t.Errorf("leaves %d are %d, %v", want, indexes, err)
	}
	if indexes, err := q.LeafIndexes(ctx, nil, nil, nil); len(indexes) > 0 || err != nil {
		t.Errorf("no leaves are %d, %v", indexes, err)
	}
	for what, wrong := range map[string]struct {
		at   uint64
		leaf tlog.Hash
	}{
		"another event":                {2560, tlog.RecordHash(nil)},
		"a leaf of a later tile":       {2560, leaves[256]},
		"a leaf of an earlier tile":    {2570, leaves[255]},
		"before the first event":       {9, leaves[0]},
		"beyond what PostgreSQL knows": {math.MaxUint64, leaves[0]},
	} {
		_, err := q.LeafIndexes(ctx, []uint64{10, wrong.at}, []uint64{10, wrong.at}, []tlog.Hash{leaves[0], wrong.leaf})
		if !errors.Is(err, queries.ErrNotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestTreeLeavesOfADamagedTree checks that no read continues after a tile that is missing or
// incomplete.
func TestTreeLeavesOfADamagedTree(t *testing.T) {
	t.Parallel()
	ctx, db := queriestest.WithTimeout(t), queriestest.OpenDatabase(t)
	q := New(db)
	fillTree(t, db, 1000)
	for _, c := range []struct {
		damage string
		want   int
	}{
		{"UPDATE linkledger.tree_tiles SET hashes = substr(hashes, 1, 320) WHERE level = 0 AND number = 2", 2*256 + 10},
		{"DELETE FROM linkledger.tree_tiles WHERE level = 0 AND number = 1", 256},
		{"DELETE FROM linkledger.tree_tiles WHERE level = 0 AND number = 0", 0},
	} {
		if _, err := db.ExecContext(ctx, c.damage); err != nil {
			t.Fatal(err)
		}
		if read, err := q.Leaves(ctx, 0); len(read) != c.want*tlog.HashSize || err != nil {
			t.Errorf("%s: %d leaves, %v", c.damage, len(read)/tlog.HashSize, err)
		}
	}
}
