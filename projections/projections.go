package projections

import (
	"context"
	"fmt"

	"linkledger/events/eventstore"
	"linkledger/projections/readmodel"
)

// Names of the projections.
const (
	Links      = linksName
	Tags       = tagsName
	Accounts   = accountsName
	Dimensions = dimensionsName
	Tree       = treeName
	History    = historyName
)

// all returns the projections of this program.
func all() projectionSet {
	return projectionSet{
		linkProjection(), tagProjection(), accountProjection(), dimensionProjection(), treeProjection(), historyProjection(),
	}
}

// Names returns the names of all projections.
func Names() []string { return all().names() }

// Prepare creates what is missing in the database: the control schema, and for each projection its tables, views and
// checkpoint. It changes nothing that is there, and several processes may call it at once.
func Prepare(ctx context.Context, db *readmodel.DB) error { return prepareAll(ctx, db, Names()) }

// Run keeps the projections up to date until ctx ends, as runProjections does.
func Run(ctx context.Context, cfg Config) error { return runProjections(ctx, all(), cfg) }

// Rebuild builds the next generation of projections beside the ones that serve, as rebuildAll does. It refuses the log of
// another database with ErrOtherLog.
func Rebuild(ctx context.Context, cfg Config, names []string, tell func([]Progress)) error {
	if _, err := CheckLog(ctx, cfg.DB, cfg.Store); err != nil {
		return fmt.Errorf("rebuild: %w", err)
	}
	return rebuildAll(ctx, all(), cfg, names, tell)
}

// Rollback has readers see the generation again that served before, as rollbackTo does.
func Rollback(ctx context.Context, db *readmodel.DB, store *eventstore.Store, name string) (int, error) {
	p, err := all().named(name)
	if err != nil {
		return 0, err
	}
	return rollbackTo(ctx, db, store, p)
}

// Prune removes the generations of a projection that do not serve, as pruneOf does.
func Prune(ctx context.Context, db *readmodel.DB, name string) (int, error) {
	if _, err := all().named(name); err != nil {
		return 0, err
	}
	return pruneOf(ctx, db, name)
}

// AwaitShape waits until readers see tables of this program's shape. Until then another version serves, or none.
func AwaitShape(ctx context.Context, db *readmodel.DB) error { return awaitShapes(ctx, db, Names()) }

// Verify compares a projection with a replay of the log, as verifyOne does.
func Verify(ctx context.Context, db *readmodel.DB, store *eventstore.Store, name string, tell func([]Progress)) (Verification, error) {
	p, err := all().named(name)
	if err != nil {
		return Verification{}, err
	}
	return verifyOne(ctx, db, store, p, tell)
}

// DeadLetters lists the events that a projection has set aside, all projections if the name is empty, oldest first.
func DeadLetters(ctx context.Context, db *readmodel.DB, name string) ([]readmodel.DeadLetter, error) {
	return listLetters(ctx, db, name)
}

// RetryDeadLetters applies the dead letters of a projection, as retryLetters does.
func RetryDeadLetters(ctx context.Context, db *readmodel.DB, name, stream string) (int, error) {
	p, err := all().named(name)
	if err != nil {
		return 0, err
	}
	return retryLetters(ctx, db, p, stream)
}

// DiscardDeadLetters removes the dead letters of a projection, as discardLetters does.
func DiscardDeadLetters(ctx context.Context, db *readmodel.DB, name, stream string) (int, error) {
	if _, err := all().named(name); err != nil {
		return 0, err
	}
	return discardLetters(ctx, db, name, stream)
}

// Overviews tells how all projections are doing, by the tables of the database and the event store's own log.
func Overviews(ctx context.Context, db *readmodel.DB, store *eventstore.Store) ([]Overview, error) {
	return overviewsOf(ctx, all(), db, store)
}

// Generations tells what the tables of the database say of all projections: no lag.
func Generations(ctx context.Context, db *readmodel.DB) ([]Overview, error) {
	return generationsOf(ctx, db)
}

// AddLag adds what the event store's own log says of the projections: how far each lags behind it.
func AddLag(ctx context.Context, store *eventstore.Store, overviews []Overview) error {
	return addLag(ctx, all(), store, overviews)
}
