package projections

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"linkledger/events/eventstore"
	"linkledger/projections/readmodel"
)

// checkpoint is how far a generation of a projection has got.
type checkpoint struct {
	name       string
	generation int
	position   eventstore.Position
}

// readCheckpoint returns the checkpoint of the generation that serves.
func readCheckpoint(ctx context.Context, db bun.IDB, name string) (checkpoint, error) {
	var row readmodel.Projection
	err := db.NewSelect().Model(&row).Where("name = ?", name).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return checkpoint{}, fmt.Errorf("checkpoint of %s: %w", name, ErrNotPrepared)
	}
	if err != nil {
		return checkpoint{}, fmt.Errorf("checkpoint of %s: %w", name, err)
	}
	return checkpoint{
		name:       name,
		generation: row.Generation,
		position: eventstore.Position{
			Commit:  uint64(row.CommitPos),  //nolint:gosec // never negative
			Prepare: uint64(row.PreparePos), //nolint:gosec // never negative
		},
	}, nil
}

// advance moves the checkpoint from where the caller knows it to be, or fails with ErrFenced; it waits for a transaction
// that is moving it. The statement also spares the commit its wait for the disk, because what a crash takes away is
// read from the log again.
func (c checkpoint) advance(ctx context.Context, tx bun.Tx, to eventstore.Position) error {
	result, err := tx.NewRaw(`
		WITH moved AS (
			UPDATE linkledger.projections SET commit_pos = ?, prepare_pos = ?, updated_at = now()
			WHERE name = ? AND generation = ? AND commit_pos = ? AND prepare_pos = ?
			RETURNING name)
		SELECT set_config('synchronous_commit', 'off', true) FROM moved`,
		signed(to.Commit), signed(to.Prepare),
		c.name, c.generation, signed(c.position.Commit), signed(c.position.Prepare)).Exec(ctx)
	if err != nil {
		return fmt.Errorf("move the checkpoint of %s: %w", c.name, err)
	}
	moved, err := result.RowsAffected()
	if err != nil {
		return fmt.Errorf("move the checkpoint of %s: %w", c.name, err)
	}
	if moved == 0 {
		return fmt.Errorf("%s at position %s: %w", c.name, c.position, ErrFenced)
	}
	return nil
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
