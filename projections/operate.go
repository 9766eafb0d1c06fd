package projections

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"linkledger/events/eventstore"
	"linkledger/projections/engine/generation"
	"linkledger/projections/readmodel"
)

// pollInterval is how often a wait looks whether it is over.
const pollInterval = 250 * time.Millisecond

// Pause keeps a projection where it is until Resume. When it has returned, no batch of the
// projection is applied any more, whichever process has it under way.
func Pause(ctx context.Context, db *readmodel.DB, name string) error {
	return operate(ctx, db, name, `UPDATE linkledger.generations
		SET paused = true, owner = '', epoch = epoch + 1, lease_until = 'epoch', rate = 0 WHERE name = ? AND NOT paused`)
}

// Resume ends a pause, and has a stopped projection try again at once.
func Resume(ctx context.Context, db *readmodel.DB, name string) error {
	return operate(
		ctx, db, name,
		"UPDATE linkledger.generations SET paused = false, resumptions = resumptions + 1 WHERE "+
			"name = ?",
	)
}

// Await waits until what readers see of a projection has all its events up to a position of the
// log.
func Await(
	ctx context.Context, db *readmodel.DB, store *eventstore.Store, name string,
	to eventstore.Position,
) error {
	p, err := all().Named(name)
	if err != nil {
		return err
	}
	for {
		serving, err := generation.Serving(ctx, db, name)
		if err != nil {
			return err
		}
		at := generation.CheckpointOf(serving).Position
		if !to.After(at) {
			return nil
		}
		// What lies in between may be nothing that the projection follows.
		if missing, err := store.Backlog(ctx, at, p.Filter, 1); err != nil || missing.Events == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is at position %s, not %s: %w", name, at, to, ctx.Err())
		case <-time.After(pollInterval):
		}
	}
}

func operate(ctx context.Context, db *readmodel.DB, name, statement string) error {
	if _, err := all().Named(name); err != nil {
		return err
	}
	return db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.NewRaw(statement, name).Exec(ctx); err != nil {
			return fmt.Errorf("change projection %s: %w", name, err)
		}
		return generation.WakeElections(ctx, tx, name)
	})
}
