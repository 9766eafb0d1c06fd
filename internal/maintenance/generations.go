package maintenance

import (
	"context"

	"linkledger/events/eventstore"
	"linkledger/internal/console"
	"linkledger/internal/installation"
	"linkledger/projections"
	"linkledger/projections/readmodel"
)

// Pause stops the updates of a projection until it is resumed.
func Pause(ctx context.Context, o installation.Operator, name string) error {
	return o.Operate(ctx, func(ctx context.Context, db *readmodel.DB, _ *eventstore.Store) error {
		return projections.Pause(ctx, db, name)
	})
}

// Resume ends a pause, or lets a stopped projection try again at once.
func Resume(ctx context.Context, o installation.Operator, name string) error {
	return o.Operate(ctx, func(ctx context.Context, db *readmodel.DB, _ *eventstore.Store) error {
		return projections.Resume(ctx, db, name)
	})
}

// Rollback switches readers back to the previous generation.
func Rollback(ctx context.Context, o installation.Operator, name string) error {
	return o.Operate(ctx, func(
		ctx context.Context, db *readmodel.DB, store *eventstore.Store,
	) error {
		generation, err := projections.Rollback(ctx, db, store, name)
		if err != nil {
			return err
		}
		if o.JSON {
			return console.JSON(o.Stdout, map[string]int{"generation": generation})
		}
		err = console.Printf(o.Stdout, "generation %d of %s serves\n", generation, name)
		return err
	})
}

// Prune deletes the generations that do not serve, of the named projections or of all.
func Prune(ctx context.Context, o installation.Operator, names []string) error {
	names = namesOrAll(names)
	return o.Operate(ctx, func(ctx context.Context, db *readmodel.DB, _ *eventstore.Store) error {
		pruned := 0
		for _, name := range names {
			n, err := projections.Prune(ctx, db, name)
			if err != nil {
				return err
			}
			pruned += n
		}
		if o.JSON {
			return console.JSON(o.Stdout, map[string]int{"pruned": pruned})
		}
		err := console.Printf(o.Stdout, "%d generations removed\n", pruned)
		return err
	})
}

// namesOrAll returns the given names of projections, or all names if none is given.
func namesOrAll(names []string) []string {
	if len(names) == 0 {
		return projections.Names()
	}
	return names
}
