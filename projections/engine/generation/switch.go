package generation

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"linkledger/events/eventstore"
	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
)

// switchLockTimeout is how long a switch waits for locks that the owners of both generations hold.
const switchLockTimeout = "2s"

// Switch makes the generation of to serve, and notifies readers that any key may have changed.
// Readers see the generation from the commit on. at is its checkpoint then. taken is false if the
// generation lacks an event that the serving one has, because readers MUST NOT see an older model.
// Switch fails with ErrFenced if the generation is gone or has another owner.
//
// The transaction locks the rows of both generations, so both checkpoints stay where they are while
// it compares them. It locks the rows in the order of their numbers, so two switches cannot
// deadlock.
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
		if served := CheckpointOf(serving); served.Position.After(at.Position) {
			// Perhaps the serving generation is ahead only by events that the projection does not
			// follow.
			missing, err := store.Backlog(ctx, at.Position, follows, 1)
			if err != nil || missing.Events > 0 {
				return err
			}
			// The generation takes over the position of the serving one, but only if the log has
			// that position. A position that the log lacks may be why the generation was built.
			switch err := inLog(ctx, store, served, follows); {
			case err == nil:
				at.Position, at.Witness = served.Position, served.Witness
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

// inLog returns eventstore.ErrPositionInvalid if a checkpoint is not in the log.
func inLog(
	ctx context.Context, store *eventstore.Store, at Checkpoint, follows eventstore.Filter,
) error {
	if err := at.Fits(ctx, store, follows); err != nil {
		return err
	}
	_, err := store.Backlog(ctx, at.Position, follows, 1)
	return err
}

// lockBoth locks and returns the generation that serves and the one that takes over. Until tx ends,
// their owners cannot move the checkpoints.
func lockBoth(
	ctx context.Context, tx bun.Tx, to Checkpoint,
) (serving, next readmodel.Generation, err error) {
	if _, err := tx.NewRaw("SET LOCAL lock_timeout = ?", switchLockTimeout).Exec(ctx); err != nil {
		return serving, next, err
	}
	var rows []readmodel.Generation
	if err := tx.NewSelect().Model(&rows).
		Where("name = ? AND (serving OR generation = ?)", to.Name, to.Generation).
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
	if _, err := tx.NewRaw(`
		UPDATE linkledger.generations SET serving = false WHERE name = ?0 AND serving;
		UPDATE linkledger.generations
		SET serving = true, built = true, commit_pos = ?2, prepare_pos = ?3,
			witness_commit = ?4, witness_prepare = ?5, witness_id = nullif(?6::uuid, ?7::uuid),
			built_at = CASE WHEN built THEN built_at ELSE clock_timestamp() END,
			built_pos = CASE WHEN built THEN built_pos ELSE ?2 END
		WHERE name = ?0 AND generation = ?1`,
		at.Name, at.Generation, sqlbatch.Signed(at.Position.Commit),
		sqlbatch.Signed(at.Position.Prepare), sqlbatch.Signed(at.Witness.Position.Commit),
		sqlbatch.Signed(at.Witness.Position.Prepare), at.Witness.ID, uuid.Nil,
	).Exec(ctx); err != nil {
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
