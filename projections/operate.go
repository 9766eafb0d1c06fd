package projections

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"linkledger/events/eventstore"
	"linkledger/projections/readmodel"
)

// projectionNamed returns the projection, or ErrUnknownProjection.
func projectionNamed(name string) (projection, error) {
	for _, p := range all() {
		if p.name == name {
			return p, nil
		}
	}
	return projection{}, fmt.Errorf("%w %q", ErrUnknownProjection, name)
}

// Pause keeps a projection where it is until Resume. When it has returned, no batch of the projection is applied any
// more, whichever process has it under way.
func Pause(ctx context.Context, db *readmodel.DB, name string) error {
	return operate(ctx, db, name, `UPDATE linkledger.generations
		SET paused = true, owner = '', epoch = epoch + 1, lease_until = 'epoch', rate = 0 WHERE name = ? AND NOT paused`)
}

// Resume ends a pause, and has a stopped projection try again at once.
func Resume(ctx context.Context, db *readmodel.DB, name string) error {
	return operate(ctx, db, name, "UPDATE linkledger.generations SET paused = false, resumptions = resumptions + 1 WHERE name = ?")
}

// Await waits until what readers see of a projection has all its events up to a position of the log.
func Await(ctx context.Context, db *readmodel.DB, store *eventstore.Store, name string, to eventstore.Position) error {
	p, err := projectionNamed(name)
	if err != nil {
		return err
	}
	for {
		serving, err := servingGeneration(ctx, db, name)
		if err != nil {
			return err
		}
		at := checkpointOf(serving).position
		if !to.After(at) {
			return nil
		}
		// What lies in between may be nothing that the projection follows.
		if missing, err := store.Backlog(ctx, at, p.filter, 1); err != nil || missing.Events == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is at position %s, not %s: %w", name, at, to, ctx.Err())
		case <-time.After(progressInterval):
		}
	}
}

func operate(ctx context.Context, db *readmodel.DB, name, statement string) error {
	if _, err := projectionNamed(name); err != nil {
		return err
	}
	return db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.NewRaw(statement, name).Exec(ctx); err != nil {
			return fmt.Errorf("change projection %s: %w", name, err)
		}
		return wakeElections(ctx, tx, name)
	})
}

// wakeElections has the projectors of all processes hold an election once the transaction is committed.
func wakeElections(ctx context.Context, tx bun.Tx, name string) error {
	if _, err := tx.NewRaw("SELECT pg_notify(?, ?)", readmodel.ControlChannel, name).Exec(ctx); err != nil {
		return fmt.Errorf("announce the change of %s: %w", name, err)
	}
	return nil
}

// servingGeneration returns the generation that readers see, or ErrNotPrepared.
func servingGeneration(ctx context.Context, db bun.IDB, name string) (readmodel.Generation, error) {
	var row readmodel.Generation
	err := db.NewSelect().Model(&row).Where("name = ? AND serving", name).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return row, fmt.Errorf("%s: %w", name, ErrNotPrepared)
	}
	if err != nil {
		return row, fmt.Errorf("generation of %s: %w", name, err)
	}
	return row, nil
}
