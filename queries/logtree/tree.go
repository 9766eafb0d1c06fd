// Package logtree reads the Merkle tree over the log from its read model: how far it has got, its
// leaves, and the hashes that proofs are made of.
package logtree

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/uptrace/bun"
	"golang.org/x/mod/sumdb/tlog"

	"linkledger/projections/readmodel"
	"linkledger/queries"
)

// leafTiles is how many tiles of leaves are read at a time.
const leafTiles = 64

// Reader reads the tree. It is safe for concurrent use.
type Reader struct {
	db *readmodel.DB
}

// New returns a Reader of a prepared database.
func New(db *readmodel.DB) *Reader { return &Reader{db: db} }

// Tree is the Merkle tree over the log, as far as the projection has got.
type Tree struct {
	Size            int64  // leaves
	Commit, Prepare uint64 // position of the log up to which it has all events
}

// Tree returns how far the tree has got. It may have grown by events behind the position meanwhile.
func (r *Reader) Tree(ctx context.Context) (Tree, error) {
	var at readmodel.Generation
	// The position comes first: the tiles that are read after it have whatever lies before it.
	if err := r.db.NewSelect().Model(&at).Where("name = 'tree' AND serving").Scan(ctx); err != nil {
		return Tree{}, failed("position of the tree", err)
	}
	//nolint:gosec // never negative
	tree := Tree{Commit: uint64(at.CommitPos), Prepare: uint64(at.PreparePos)}
	var last readmodel.TreeTile
	err := r.db.NewSelect().Model(&last).Where("level = 0").Order("number DESC").Limit(1).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return tree, nil
	}
	if err != nil {
		return Tree{}, failed("size of the tree", err)
	}
	tree.Size = last.Number<<readmodel.TreeHeight + int64(len(last.Hashes)/tlog.HashSize)
	return tree, nil
}

// Leaves returns the hashes of leaves, one after the other, from the one with that index on: some
// of them, none where there are none.
func (r *Reader) Leaves(ctx context.Context, from int64) ([]byte, error) {
	first := from >> readmodel.TreeHeight
	var tiles []readmodel.TreeTile
	if err := r.db.NewSelect().Model(&tiles).Column("number", "hashes").
		Where("level = 0 AND number >= ? AND number < ?", first, first+leafTiles).Order(
		"number",
	).Scan(ctx); err != nil {
		return nil, failed("leaves of the tree", err)
	}
	var leaves []byte
	for i, tile := range tiles {
		if tile.Number != first+int64(i) || len(leaves)%readmodel.TreeTileSize != 0 {
			break // one is missing, or cut short
		}
		leaves = append(leaves, tile.Hashes...)
	}
	return leaves[min(len(leaves), int(from-first<<readmodel.TreeHeight)*tlog.HashSize):], nil
}

// LeafIndex returns which leaf, from 0, belongs to the event at a position whose leaf has that
// hash; else queries.ErrNotFound.
func (r *Reader) LeafIndex(
	ctx context.Context, commit, prepare uint64, leaf tlog.Hash,
) (int64, error) {
	var tile readmodel.TreeTile
	if err := r.db.NewSelect().Model(&tile).Where(
		"level = 0 AND (commit_pos, prepare_pos) <= (?, ?)", commit, prepare,
	).
		Order("level DESC", "commit_pos DESC", "prepare_pos DESC").Limit(1).Scan(ctx); err != nil {
		return 0, failed("leaf of an event", err)
	}
	for at := 0; at+tlog.HashSize <= len(tile.Hashes); at += tlog.HashSize {
		if bytes.Equal(tile.Hashes[at:at+tlog.HashSize], leaf[:]) {
			return tile.Number<<readmodel.TreeHeight + int64(at/tlog.HashSize), nil
		}
	}
	return 0, failed("leaf of an event", queries.ErrNotFound)
}

// Hashes reads hashes of the tree for proofs. They are worth what PostgreSQL is worth: check what
// comes of them against a signed head.
func (r *Reader) Hashes(ctx context.Context) tlog.HashReader {
	return tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		tiles, err := r.tiles(ctx, indexes)
		if err != nil {
			return nil, err
		}
		hashes := make([]tlog.Hash, len(indexes))
		for i, index := range indexes {
			tile := tlog.TileForIndex(readmodel.TreeHeight, index)
			if hashes[i], err = tlog.HashFromTile(
				tile, tiles[tileID{tile.L, tile.N}], index,
			); err != nil {
				return nil, fmt.Errorf("tree: %w", err)
			}
		}
		return hashes, nil
	})
}

// tileID is where a tile lies.
type tileID struct {
	level  int
	number int64
}

// tiles returns the hashes of the tiles that hashes lie in.
func (r *Reader) tiles(ctx context.Context, indexes []int64) (map[tileID][]byte, error) {
	found := make(map[tileID][]byte)
	if len(indexes) == 0 {
		return found, nil
	}
	var asked []bun.TupleValues
	for _, index := range indexes {
		tile := tlog.TileForIndex(readmodel.TreeHeight, index)
		asked = append(asked, bun.Tuple([]int64{int64(tile.L), tile.N}))
	}
	var tiles []readmodel.TreeTile
	if err := r.db.NewSelect().Model(&tiles).Column("level", "number", "hashes").
		Where("(level, number) IN (?)", bun.List(asked)).Scan(ctx); err != nil {
		return nil, failed("tiles of the tree", err)
	}
	for _, tile := range tiles {
		found[tileID{tile.Level, tile.Number}] = tile.Hashes
	}
	return found, nil
}

// failed wraps the error of a question. No row is queries.ErrNotFound.
func failed(question string, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		err = queries.ErrNotFound
	}
	return fmt.Errorf("%s: %w", question, err)
}
