// Package logtree reads the Merkle tree over the log from its read model: its size, its leaves, and
// the hashes for proofs.
package logtree

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"

	"github.com/uptrace/bun"
	"golang.org/x/mod/sumdb/tlog"

	"linkledger/projections/readmodel"
	"linkledger/queries"
)

// leafTiles is how many tiles of leaves one query reads.
const leafTiles = 64

// Reader reads the tree. It is safe for concurrent use.
type Reader struct {
	db *readmodel.DB
}

// New returns a Reader of a prepared database.
func New(db *readmodel.DB) *Reader { return &Reader{db: db} }

// Tree is the size of the Merkle tree over the log, as far as the projection has built it.
type Tree struct {
	Size            int64  // leaves
	Commit, Prepare uint64 // the tree has all events up to this position of the log
}

// Tree returns the size and position of the tree. The tree may contain events after the position
// too.
func (r *Reader) Tree(ctx context.Context) (Tree, error) {
	var at readmodel.Generation
	// The position is read first, so that the tiles contain all events up to it.
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

// Size returns the number of leaves of the tree.
func (r *Reader) Size(ctx context.Context) (int64, error) {
	tree, err := r.Tree(ctx)
	return tree.Size, err
}

// Leaves returns the concatenated hashes of leaves from an index on, of at most leafTiles tiles. It
// returns none if the tree has no leaf with the index.
func (r *Reader) Leaves(ctx context.Context, from int64) ([]byte, error) {
	first := from >> readmodel.TreeHeight
	var tiles []readmodel.TreeTile
	if err := r.db.NewSelect().Model(&tiles).Column("number", "hashes").
		Where("level = 0 AND number >= ? AND number < ?", first, first+leafTiles).
		Order("number").Scan(ctx); err != nil {
		return nil, failed("leaves of the tree", err)
	}
	var leaves []byte
	for i, tile := range tiles {
		if tile.Number != first+int64(i) || len(leaves)%readmodel.TreeTileSize != 0 {
			break // a tile is missing or not full
		}
		leaves = append(leaves, tile.Hashes...)
	}
	return leaves[min(len(leaves), int(from-first<<readmodel.TreeHeight)*tlog.HashSize):], nil
}

// LeafIndexes returns the indexes, from 0, of the leaves of events. Each event is given by its
// position in the log and the hash of its leaf. It returns queries.ErrNotFound if the tree has no
// such leaf in the tile of the position. It asks the database once.
func (r *Reader) LeafIndexes(
	ctx context.Context, commit, prepare []uint64, leaves []tlog.Hash,
) ([]int64, error) {
	hashes := make([][]byte, len(leaves))
	for i := range leaves {
		hashes[i] = leaves[i][:]
	}
	// The tile of an event is the last one that begins at its position or before.
	rows, err := r.db.Pool.Query(ctx, `
		SELECT tile.number, position(asked.leaf IN tile.hashes) - 1
		FROM unnest($1::bigint[], $2::bigint[], $3::bytea[])
			WITH ORDINALITY AS asked (commit_pos, prepare_pos, leaf, n)
		LEFT JOIN LATERAL (
			SELECT number, hashes FROM linkledger.tree_tiles
			WHERE level = 0 AND (commit_pos, prepare_pos) <= (asked.commit_pos, asked.prepare_pos)
			ORDER BY level DESC, commit_pos DESC, prepare_pos DESC LIMIT 1
		) AS tile ON true
		ORDER BY asked.n`, signed(commit), signed(prepare), hashes)
	if err != nil {
		return nil, failed("leaves of events", err)
	}
	defer rows.Close()
	indexes := make([]int64, 0, len(leaves))
	for rows.Next() {
		var number, at *int64 // null: there is no tile
		if err := rows.Scan(&number, &at); err != nil {
			return nil, failed("leaves of events", err)
		}
		if at == nil || *at < 0 || *at%tlog.HashSize != 0 {
			return nil, failed(
				fmt.Sprintf("leaf of the event at position %d", commit[len(indexes)]),
				queries.ErrNotFound,
			)
		}
		indexes = append(indexes, *number<<readmodel.TreeHeight+*at/tlog.HashSize)
	}
	if err := rows.Err(); err != nil {
		return nil, failed("leaves of events", err)
	}
	return indexes, nil
}

// signed returns positions as PostgreSQL has them.
func signed(positions []uint64) []int64 {
	all := make([]int64, len(positions))
	for i, position := range positions {
		all[i] = int64(min(position, math.MaxInt64))
	}
	return all
}

// Hashes returns a reader of the tree's hashes for proofs. It fails with queries.ErrNotFound for a
// hash that is missing because the tree was altered. PostgreSQL may contain altered hashes, so
// callers MUST check the result against a signed tree head.
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
				return nil, fmt.Errorf("hash of the tree: %w: %w", queries.ErrNotFound, err)
			}
		}
		return hashes, nil
	})
}

// tileID identifies a tile.
type tileID struct {
	level  int
	number int64
}

// tiles returns the tiles that contain the hashes of indexes.
func (r *Reader) tiles(ctx context.Context, indexes []int64) (map[tileID][]byte, error) {
	found := make(map[tileID][]byte)
	if len(indexes) == 0 {
		return found, nil
	}
	var asked []bun.TupleValues
	seen := make(map[tileID]bool)
	for _, index := range indexes {
		tile := tlog.TileForIndex(readmodel.TreeHeight, index)
		if id := (tileID{tile.L, tile.N}); !seen[id] {
			seen[id] = true
			asked = append(asked, bun.Tuple([]int64{int64(tile.L), tile.N}))
		}
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

// failed wraps the error of a query. sql.ErrNoRows becomes queries.ErrNotFound.
func failed(query string, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		err = queries.ErrNotFound
	}
	return fmt.Errorf("%s: %w", query, err)
}
