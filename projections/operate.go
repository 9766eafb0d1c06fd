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

// pollInterval is how often waiting functions query the database.
const pollInterval = 250 * time.Millisecond

// Pause stops a projection until Resume. After Pause has returned, no process applies a batch of
// the projection. Batches under way fail, because Pause ends their epoch.
func Pause(ctx context.Context, db *readmodel.DB, name string) error {
	return operate(ctx, db, name, `UPDATE linkledger.generations
		SET paused = true, owner = '', epoch = epoch + 1, lease_until = 'epoch', rate = 0
		WHERE name = ? AND NOT paused`)
}

// Resume ends a pause. A stopped projection tries again at once.
func Resume(ctx context.Context, db *readmodel.DB, name string) error {
	return operate(ctx, db, name, `UPDATE linkledger.generations
		SET paused = false, resumptions = resumptions + 1 WHERE name = ?`)
}

// Await waits until the generation that serves has applied all events of its projection up to a
// position of the log.
func Await(
	ctx context.Context, db *readmodel.DB, store *eventstore.Store, name string,
	to eventstore.Position,
) error {
	p, err := All().Named(name)
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
		// The checkpoint stays behind if the projection follows none of the events in between.
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
	if _, err := All().Named(name); err != nil {
		return err
	}
	return db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.NewRaw(statement, name).Exec(ctx); err != nil {
			return fmt.Errorf("change projection %s: %w", name, err)
		}
		return generation.WakeElections(ctx, tx, name)
	})
}
