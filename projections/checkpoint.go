package projections

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

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
// read from the log again, and announces the position, which PostgreSQL does at the commit.
func (c checkpoint) advance(ctx context.Context, tx bun.Tx, to eventstore.Position) error {
	result, err := tx.NewRaw(`
		WITH moved AS (
			UPDATE linkledger.projections SET commit_pos = ?, prepare_pos = ?, updated_at = now()
			WHERE name = ? AND generation = ? AND commit_pos = ? AND prepare_pos = ?
			RETURNING name)
		SELECT set_config('synchronous_commit', 'off', true), pg_notify(?, ?) FROM moved`,
		signed(to.Commit), signed(to.Prepare),
		c.name, c.generation, signed(c.position.Commit), signed(c.position.Prepare),
		readmodel.Channel, c.name+" "+to.String()).Exec(ctx)
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
