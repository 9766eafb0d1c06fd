package generation

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"linkledger/events/eventstore"
	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
)

// Checkpoint is how far a generation of a projection has got under an owner.
type Checkpoint struct {
	Name       string
	Generation int
	Epoch      int64 // of the owner
	Position   eventstore.Position
}

// Schema returns the name of the one that the tables lie in.
func (c Checkpoint) Schema() string { return readmodel.GenerationSchema(c.Name, c.Generation) }

// CheckpointOf returns the checkpoint in a row.
func CheckpointOf(row readmodel.Generation) Checkpoint {
	return Checkpoint{
		Name: row.Name, Generation: row.Generation, Epoch: row.Epoch,
		Position: eventstore.Position{
			Commit:  uint64(row.CommitPos),  //nolint:gosec // never negative
			Prepare: uint64(row.PreparePos), //nolint:gosec // never negative
		},
	}
}

// Reread returns the checkpoint as the database has it, or ErrFenced where another owner has it.
func (c Checkpoint) Reread(ctx context.Context, db bun.IDB) (Checkpoint, error) {
	var row readmodel.Generation
	err := db.NewSelect().Model(&row).Where(
		"name = ? AND generation = ?", c.Name, c.Generation,
	).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) || err == nil && row.Epoch != c.Epoch {
		return Checkpoint{}, fmt.Errorf("%s: %w", c.Name, ErrFenced)
	}
	if err != nil {
		return Checkpoint{}, fmt.Errorf("checkpoint of %s: %w", c.Name, err)
	}
	return CheckpointOf(row), nil
}

// Advance queues the move of the checkpoint from where the caller knows it to be, which extends the
// lease and fails with ErrFenced if it is elsewhere; it waits for a transaction that is moving it.
// serving learns whether readers see this generation.
func (c Checkpoint) Advance(
	s *sqlbatch.Batch, to eventstore.Position, lease time.Duration, serving *bool,
) {
	s.Queue(`UPDATE linkledger.generations SET commit_pos = $1, prepare_pos = $2, updated_at = now(),
			lease_until = clock_timestamp() + make_interval(secs => $3)
		WHERE name = $4 AND generation = $5 AND epoch = $6 AND commit_pos = $7 AND prepare_pos = $8
		RETURNING serving`,
		sqlbatch.Signed(to.Commit), sqlbatch.Signed(to.Prepare), lease.Seconds(),
		c.Name, c.Generation, c.Epoch, sqlbatch.Signed(c.Position.Commit),
		sqlbatch.Signed(c.Position.Prepare),
	).QueryRow(func(row pgx.Row) error {
		err := row.Scan(serving)
		if errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("%s at position %s: %w", c.Name, c.Position, ErrFenced)
		}
		return err
	})
}

// Confirm fails with ErrFenced where the generation has another owner by now. It gets none before
// tx ends.
func (c Checkpoint) Confirm(ctx context.Context, tx bun.Tx) error {
	var owned []readmodel.Generation
	err := tx.NewSelect().Model(&owned).Where(
		"name = ? AND generation = ? AND epoch = ?", c.Name, c.Generation, c.Epoch,
	).
		For("SHARE").Scan(ctx)
	if err == nil && len(owned) == 0 {
		return fmt.Errorf("%s: %w", c.Name, ErrFenced)
	}
	return err
}

// maxPayload is the most that PostgreSQL takes as the payload of a notification, in bytes.
const maxPayload = 7999

// Announce has PostgreSQL tell at the commit which keys have changed, and after that that the
// position is reached.
func Announce(s *sqlbatch.Batch, name string, to eventstore.Position, changed []string) {
	s.Queue("SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload",
		readmodel.Channel, append(changedPayloads(name, changed), name+" "+to.String()))
}

// changedPayloads lists keys in as few notifications as they fit in.
func changedPayloads(name string, keys []string) []string {
	var payloads []string
	prefix := name + " " + readmodel.Changed
	line := prefix
	for _, key := range keys {
		if len(line)+len(key)+1 > maxPayload {
			payloads = append(payloads, line)
			line = prefix
		}
		line += key + " "
	}
	if line != prefix {
		payloads = append(payloads, line)
	}
	return payloads
}
