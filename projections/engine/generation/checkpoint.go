package generation

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/uptrace/bun"

	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventlog"
	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
)

// Checkpoint is the position up to which a generation of a projection has applied the log, under
// one owner.
type Checkpoint struct {
	Name       string
	Generation int
	Epoch      int64 // of the owner
	Position   eventstore.Position
	// Witness is the last event that is known to be in the log, at Position or before. It is zero
	// if none is known.
	Witness eventlog.Identity
}

// Schema returns the name of the schema that contains the tables.
func (c Checkpoint) Schema() string { return readmodel.GenerationSchema(c.Name, c.Generation) }

// CheckpointOf returns the checkpoint of a row.
func CheckpointOf(row readmodel.Generation) Checkpoint {
	return Checkpoint{
		Name: row.Name, Generation: row.Generation, Epoch: row.Epoch,
		Position: eventstore.Position{
			Commit:  uint64(row.CommitPos),  //nolint:gosec // never negative
			Prepare: uint64(row.PreparePos), //nolint:gosec // never negative
		},
		Witness: eventlog.Identity{
			Position: eventstore.Position{
				Commit:  uint64(row.WitnessCommit),  //nolint:gosec // never negative
				Prepare: uint64(row.WitnessPrepare), //nolint:gosec // never negative
			},
			ID: row.WitnessID,
		},
	}
}

// Reread returns the checkpoint from the database. It fails with ErrFenced if the generation is
// gone or has another owner.
func (c Checkpoint) Reread(ctx context.Context, db bun.IDB) (Checkpoint, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	var row readmodel.Generation
	err := db.NewSelect().Model(&row).
		Where("name = ? AND generation = ?", c.Name, c.Generation).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) || err == nil && row.Epoch != c.Epoch {
		return Checkpoint{}, fmt.Errorf("%s: %w", c.Name, ErrFenced)
	}
	if err != nil {
		return Checkpoint{}, fmt.Errorf("checkpoint of %s: %w", c.Name, err)
	}
	return CheckpointOf(row), nil
}

// Fits returns eventstore.ErrPositionInvalid if the generation was built from another log. follows
// selects the events that the projection reads. See eventstore.Store.Fits.
func (c Checkpoint) Fits(
	ctx context.Context, store *eventstore.Store, follows eventstore.Filter,
) error {
	if err := store.Fits(ctx, c.Position, c.Witness, follows); err != nil {
		return fmt.Errorf("generation %d of %s: %w", c.Generation, c.Name, err)
	}
	return nil
}

// Advance queues an update that moves the checkpoint from c.Position to another position and
// extends the lease. It also clears the last error, because the projection makes progress. witness
// is the last event at or before the new position. If witness is zero, the checkpoint keeps
// c.Witness. The update fails with ErrFenced if the checkpoint is not at c.Position, or if another
// process owns the generation. serving is set to whether readers see this generation.
//
// One statement checks the epoch, moves the checkpoint and extends the lease, so that a former
// owner cannot move a checkpoint that another process owns. The statement locks the row, so it
// waits for a transaction that is moving the same checkpoint.
func (c Checkpoint) Advance(
	s *sqlbatch.Batch, to eventstore.Position, witness eventlog.Identity, lease time.Duration,
	serving *bool,
) {
	witness = cmp.Or(witness, c.Witness)
	s.Queue(`UPDATE linkledger.generations
		SET commit_pos = $1, prepare_pos = $2, updated_at = now(),
			lease_until = clock_timestamp() + make_interval(secs => $3),
			witness_commit = $9, witness_prepare = $10, witness_id = $11, last_error = ''
		WHERE name = $4 AND generation = $5 AND epoch = $6 AND commit_pos = $7 AND prepare_pos = $8
		RETURNING serving`,
		sqlbatch.Signed(to.Commit), sqlbatch.Signed(to.Prepare), lease.Seconds(),
		c.Name, c.Generation, c.Epoch, sqlbatch.Signed(c.Position.Commit),
		sqlbatch.Signed(c.Position.Prepare),
		sqlbatch.Signed(witness.Position.Commit), sqlbatch.Signed(witness.Position.Prepare),
		pgtype.UUID{Bytes: witness.ID, Valid: witness.ID != uuid.Nil},
	).QueryRow(func(row pgx.Row) error {
		err := row.Scan(serving)
		if errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("%s at position %s: %w", c.Name, c.Position, ErrFenced)
		}
		return err
	})
}

// Confirm fails with ErrFenced if the generation has another owner. It locks the row, so that no
// other process becomes the owner before tx ends.
func (c Checkpoint) Confirm(ctx context.Context, tx bun.Tx) error {
	var owned []readmodel.Generation
	err := tx.NewSelect().Model(&owned).
		Where("name = ? AND generation = ? AND epoch = ?", c.Name, c.Generation, c.Epoch).
		For("SHARE").Scan(ctx)
	if err == nil && len(owned) == 0 {
		return fmt.Errorf("%s: %w", c.Name, ErrFenced)
	}
	return err
}

// maxPayload is the maximum size of the payload of a PostgreSQL notification, in bytes.
const maxPayload = 7999

// Announce queues the notifications of a batch. PostgreSQL sends them when the transaction commits:
// first the keys that have changed, then the commit position.
func Announce(s *sqlbatch.Batch, name string, to eventstore.Position, changed []string) {
	s.Queue("SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload",
		readmodel.Channel, append(changedPayloads(name, changed), name+" "+to.String()))
}

// changedPayloads lists the keys in as few payloads as possible.
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
