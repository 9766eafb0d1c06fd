package main

import (
	"context"
	"fmt"

	"linkledger/events/eventstore"
	"linkledger/projections"
	"linkledger/projections/readmodel"
)

// pauseProjection keeps a projection where it is until it is resumed.
func pauseProjection(ctx context.Context, o Operator, name string) error {
	return o.operate(ctx, func(ctx context.Context, db *readmodel.DB, _ *eventstore.Store) error {
		return projections.Pause(ctx, db, name)
	})
}

// resumeProjection ends a pause, or has a stopped projection try again at once.
func resumeProjection(ctx context.Context, o Operator, name string) error {
	return o.operate(ctx, func(ctx context.Context, db *readmodel.DB, _ *eventstore.Store) error {
		return projections.Resume(ctx, db, name)
	})
}

// rollbackProjection has the generation before serve again.
func rollbackProjection(ctx context.Context, o Operator, name string) error {
	return o.operate(ctx, func(ctx context.Context, db *readmodel.DB, store *eventstore.Store) error {
		generation, err := projections.Rollback(ctx, db, store, name)
		if err != nil {
			return err
		}
		if o.JSON {
			return printJSON(o.Stdout, map[string]int{"generation": generation})
		}
		_, err = fmt.Fprintf(o.Stdout, "generation %d of %s serves\n", generation, name)
		return err
	})
}

// pruneProjections removes the generations of projections that do not serve.
func pruneProjections(ctx context.Context, o Operator, names []string) error {
	return o.operate(ctx, func(ctx context.Context, db *readmodel.DB, _ *eventstore.Store) error {
		pruned := 0
		for _, name := range names {
			n, err := projections.Prune(ctx, db, name)
			if err != nil {
				return err
			}
			pruned += n
		}
		if o.JSON {
			return printJSON(o.Stdout, map[string]int{"pruned": pruned})
		}
		_, err := fmt.Fprintf(o.Stdout, "%d generations removed\n", pruned)
		return err
	})
}
