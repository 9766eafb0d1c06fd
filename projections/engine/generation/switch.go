package generation

import (
	"context"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"linkledger/events/eventstore"
	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
)

// switchLockTimeout bounds how long a switch waits for the owners of the generations.
const switchLockTimeout = "2s"

// Switch has readers see another generation from one moment to the next, and tells them that
// anything may have changed. It returns false where the generation lacks an event that the one
// which serves has: readers never see an older model. It fails with ErrFenced where the generation
// is gone or has another owner by now.
func Switch(
	ctx context.Context, db *bun.DB, store *eventstore.Store, follows eventstore.Filter,
	to Checkpoint,
) (at Checkpoint, taken bool, err error) {
	err = db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		serving, next, err := lockBoth(ctx, tx, to)
		if err != nil {
			return err
		}
		at = CheckpointOf(next)
		if served := CheckpointOf(serving).Position; served.After(at.Position) {
			// Neither of them moves now. The one that serves may be ahead by events that neither
			// follows.
			missing, err := store.Backlog(ctx, at.Position, follows, 1)
			if err != nil || missing.Events > 0 {
				return err
			}
			// Nor does it go on from a checkpoint that is not in the log, which may be why it was
			// built.
			switch _, err := store.Backlog(ctx, served, follows, 1); {
			case err == nil:
				at.Position = served
			case !errors.Is(err, eventstore.ErrPositionInvalid):
				return err
			}
		}
		if taken = true; next.Serving {
			return nil
		}
		return replace(ctx, tx, serving, at)
	})
	if err != nil {
		return to, false, fmt.Errorf("switch %s to generation %d: %w", to.Name, to.Generation, err)
	}
	return at, taken, nil
}

// lockBoth returns the generation that serves and another one, and keeps their owners from moving
// them.
func lockBoth(
	ctx context.Context, tx bun.Tx, to Checkpoint,
) (serving, next readmodel.Generation, err error) {
	if _, err := tx.NewRaw("SET LOCAL lock_timeout = ?", switchLockTimeout).Exec(ctx); err != nil {
		return serving, next, err
	}
	var rows []readmodel.Generation
	if err := tx.NewSelect().Model(&rows).Where(
		"name = ? AND (serving OR generation = ?)", to.Name, to.Generation,
	).
		Order("generation").For("UPDATE").Scan(ctx); err != nil {
		return serving, next, err
	}
	found := false
	for _, row := range rows {
		if row.Serving {
			serving = row
		}
		if row.Generation == to.Generation && row.Epoch == to.Epoch {
			next, found = row, true
		}
	}
	if !found {
		return serving, next, ErrFenced
	}
	return serving, next, nil
}

func replace(ctx context.Context, tx bun.Tx, serving readmodel.Generation, at Checkpoint) error {
	if _, err := tx.NewRaw(`UPDATE linkledger.generations SET serving = false WHERE name = ?0 AND serving;
		UPDATE linkledger.generations SET serving = true, built = true, commit_pos = ?2, prepare_pos = ?3
		WHERE name = ?0 AND generation = ?1`,
		at.Name, at.Generation, sqlbatch.Signed(at.Position.Commit),
		sqlbatch.Signed(at.Position.Prepare)).Exec(ctx); err != nil {
		return err
	}
	if err := readmodel.Serve(ctx, tx, at.Name, serving.Generation, at.Generation); err != nil {
		return err
	}
	if _, err := tx.NewRaw("SELECT pg_notify(?0, ?1), pg_notify(?0, ?2)", readmodel.Channel,
		at.Name+" "+readmodel.Changed+readmodel.Everything,
		at.Name+" "+at.Position.String()).Exec(ctx); err != nil {
		return err
	}
	return WakeElections(ctx, tx, at.Name)
}
