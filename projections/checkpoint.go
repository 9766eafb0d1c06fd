package projections

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
)

// checkpoint is how far a generation of a projection has got under an owner.
type checkpoint struct {
	name       string
	generation int
	epoch      int64 // of the owner
	position   eventstore.Position
}

// schema returns the name of the one that the tables lie in.
func (c checkpoint) schema() string { return readmodel.GenerationSchema(c.name, c.generation) }

func checkpointOf(row readmodel.Generation) checkpoint {
	return checkpoint{
		name: row.Name, generation: row.Generation, epoch: row.Epoch,
		position: eventstore.Position{
			Commit:  uint64(row.CommitPos),  //nolint:gosec // never negative
			Prepare: uint64(row.PreparePos), //nolint:gosec // never negative
		},
	}
}

// reread returns the checkpoint as the database has it, or ErrFenced where another owner has it.
func (c checkpoint) reread(ctx context.Context, db bun.IDB) (checkpoint, error) {
	var row readmodel.Generation
	err := db.NewSelect().Model(&row).Where("name = ? AND generation = ?", c.name, c.generation).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) || err == nil && row.Epoch != c.epoch {
		return checkpoint{}, fmt.Errorf("%s: %w", c.name, ErrFenced)
	}
	if err != nil {
		return checkpoint{}, fmt.Errorf("checkpoint of %s: %w", c.name, err)
	}
	return checkpointOf(row), nil
}

// advance queues the move of the checkpoint from where the caller knows it to be, which extends the lease and fails with
// ErrFenced if it is elsewhere; it waits for a transaction that is moving it. serving learns whether readers see this
// generation.
func (c checkpoint) advance(s *statements, to eventstore.Position, lease time.Duration, serving *bool) {
	s.queue(`UPDATE linkledger.generations SET commit_pos = $1, prepare_pos = $2, updated_at = now(),
			lease_until = clock_timestamp() + make_interval(secs => $3)
		WHERE name = $4 AND generation = $5 AND epoch = $6 AND commit_pos = $7 AND prepare_pos = $8
		RETURNING serving`,
		signed(to.Commit), signed(to.Prepare), lease.Seconds(),
		c.name, c.generation, c.epoch, signed(c.position.Commit), signed(c.position.Prepare),
	).QueryRow(func(row pgx.Row) error {
		err := row.Scan(serving)
		if errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("%s at position %s: %w", c.name, c.position, ErrFenced)
		}
		return err
	})
}

// confirm fails with ErrFenced where the generation has another owner by now. It gets none before tx ends.
func (c checkpoint) confirm(ctx context.Context, tx bun.Tx) error {
	var owned []readmodel.Generation
	err := tx.NewSelect().Model(&owned).Where("name = ? AND generation = ? AND epoch = ?", c.name, c.generation, c.epoch).
		For("SHARE").Scan(ctx)
	if err == nil && len(owned) == 0 {
		return fmt.Errorf("%s: %w", c.name, ErrFenced)
	}
	return err
}

// maxPayload is the most that PostgreSQL takes as the payload of a notification, in bytes.
const maxPayload = 7999

// announce has PostgreSQL tell at the commit which keys have changed, and after that that the position is reached.
func announce(s *statements, name string, to eventstore.Position, changed []string) {
	s.queue("SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload",
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
