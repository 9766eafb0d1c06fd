package projections

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"linkledger/events/eventstore"
	"linkledger/projections/readmodel"
)

// idleInTransaction is how long a projector may leave a transaction alone. One that stops in the middle of a batch (a
// suspended process) holds the lock on its checkpoint, and its successor must not wait longer for it than for its lease.
const idleInTransaction = 5 * time.Second

// checkpoint is how far a generation of a projection has got under an owner.
type checkpoint struct {
	name       string
	generation int
	epoch      int64 // of the owner
	position   eventstore.Position
}

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

// advance moves the checkpoint from where the caller knows it to be and extends the lease, or fails with ErrFenced; it
// waits for a transaction that is moving it. It tells whether readers see this generation. The statement also spares the
// commit its wait for the disk, because what a crash takes away is read from the log again.
func (c checkpoint) advance(ctx context.Context, tx bun.Tx, to eventstore.Position, lease time.Duration) (serving bool, err error) {
	err = tx.NewRaw(`
		WITH moved AS (
			UPDATE linkledger.generations SET commit_pos = ?, prepare_pos = ?, updated_at = now(),
				lease_until = clock_timestamp() + make_interval(secs => ?)
			WHERE name = ? AND generation = ? AND epoch = ? AND commit_pos = ? AND prepare_pos = ?
			RETURNING serving),
		settings AS (
			SELECT set_config('synchronous_commit', 'off', true),
				set_config('idle_in_transaction_session_timeout', ?, true) FROM moved)
		SELECT serving FROM moved, settings`,
		signed(to.Commit), signed(to.Prepare), lease.Seconds(),
		c.name, c.generation, c.epoch, signed(c.position.Commit), signed(c.position.Prepare),
		strconv.FormatInt(idleInTransaction.Milliseconds(), 10)).Scan(ctx, &serving)
	if errors.Is(err, sql.ErrNoRows) {
		return false, fmt.Errorf("%s at position %s: %w", c.name, c.position, ErrFenced)
	}
	if err != nil {
		return false, fmt.Errorf("move the checkpoint of %s: %w", c.name, err)
	}
	return serving, nil
}

// maxPayload is the most that PostgreSQL takes as the payload of a notification, in bytes.
const maxPayload = 7999

// announce has PostgreSQL tell at the commit which keys have changed, and after that that the position is reached.
func announce(ctx context.Context, tx bun.Tx, name string, to eventstore.Position, changed []string) error {
	payloads := append(changedPayloads(name, changed), name+" "+to.String())
	if _, err := tx.NewRaw("SELECT pg_notify(?, payload) FROM unnest(?::text[]) WITH ORDINALITY AS p (payload, n) ORDER BY n",
		readmodel.Channel, pgdialect.Array(payloads)).Exec(ctx); err != nil {
		return fmt.Errorf("announce position %s of %s: %w", to, name, err)
	}
	return nil
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
