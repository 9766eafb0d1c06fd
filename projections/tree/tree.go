package tree

import (
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/mod/sumdb/tlog"

	"linkledger/events/proof"
	"linkledger/events/proof/leaf"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
)

// Name is the name of the projection.
const Name = "tree"

// minDelay is the shortest time between two batches of a live tree. It can be that long because
// only requests for a tree head wait for this projection.
const minDelay = 500 * time.Millisecond

// Projection returns the projection of the Merkle tree over the whole log.
func Projection() projection.Definition {
	return projection.Definition{
		Name: Name, Folds: projection.FoldsOf(newTreeFold), Raw: true, NeverAwaited: true,
		MinDelay: minDelay,
	}
}

// treeFold appends to the Merkle tree over the log. It holds the last tile of each level after the
// events applied so far.
type treeFold struct {
	hasher  leaf.Hasher
	last    []*readmodel.TreeTile // by level
	changed map[*readmodel.TreeTile]struct{}
}

func newTreeFold() projection.Fold {
	return &treeFold{changed: make(map[*readmodel.TreeTile]struct{})}
}

func (t *treeFold) Read(s *sqlbatch.Batch, batch []projection.Event) {
	if len(batch) == 0 {
		return
	}
	// LATERAL with LIMIT 1 probes the primary key once for each level.
	s.Queue(`
		SELECT last.* FROM generate_series(0, $1) AS levels (level), LATERAL (
			SELECT level, number, hashes, commit_pos, prepare_pos FROM ?schema.tree_tiles AS tile
			WHERE tile.level = levels.level ORDER BY number DESC LIMIT 1) AS last
		ORDER BY level`, readmodel.TreeLevels-1).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var tile readmodel.TreeTile
			if err := rows.Scan(
				&tile.Level, &tile.Number, &tile.Hashes, &tile.CommitPos, &tile.PreparePos,
			); err != nil {
				return err
			}
			t.last = append(t.last, &tile)
		}
		return rows.Err()
	})
}

func (t *treeFold) Apply(event projection.Event) error {
	t.add(0, t.hasher.Hash(event.Recorded), event)
	return nil
}

// add appends a hash to a level. event is the last event under the hash. When a tile becomes full,
// add appends the root hash of the tile to the next level.
func (t *treeFold) add(level int, hash tlog.Hash, event projection.Event) {
	if level == len(t.last) {
		t.last = append(t.last, nil)
	}
	tile := t.last[level]
	if tile == nil || len(tile.Hashes) == readmodel.TreeTileSize {
		next := &readmodel.TreeTile{
			Level: level, CommitPos: event.CommitPosition(),
			PreparePos: sqlbatch.Signed(event.Position.Prepare),
		}
		if tile != nil {
			next.Number = tile.Number + 1
		}
		t.last[level], tile = next, next
	}
	t.changed[tile] = struct{}{}
	if tile.Hashes = append(tile.Hashes, hash[:]...); len(tile.Hashes) == readmodel.TreeTileSize {
		t.add(level+1, rootOf(tile.Hashes), event)
	}
}

// rootOf returns the root hash over the hashes of a full tile.
func rootOf(hashes []byte) tlog.Hash {
	var tree proof.Tree
	for hash := range slices.Chunk(hashes, tlog.HashSize) {
		tree.Add(tlog.Hash(hash))
	}
	return tree.Root()
}

func (t *treeFold) Size() int { return len(t.changed) }

func (t *treeFold) Write(s *sqlbatch.Batch) []string {
	var (
		level, number, commit, prepare []int64
		hashes                         [][]byte
	)
	for tile := range t.changed {
		level, number = append(level, int64(tile.Level)), append(number, tile.Number)
		hashes = append(hashes, tile.Hashes)
		commit, prepare = append(commit, tile.CommitPos), append(prepare, tile.PreparePos)
	}
	if len(level) > 0 {
		s.Queue(`INSERT INTO ?schema.tree_tiles (level, number, hashes, commit_pos, prepare_pos)
			SELECT * FROM unnest($1::smallint[], $2::bigint[], $3::bytea[], $4::bigint[],
				$5::bigint[])
			ON CONFLICT (level, number) DO UPDATE SET hashes = EXCLUDED.hashes`,
			level, number, hashes, commit, prepare)
	}
	return nil
}
