package startup

// This file waits for the event store and the database, and says which of them a start waits for.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"

	"linkledger/events/eventstore"
	"linkledger/internal/admin"
	"linkledger/internal/usage"
	"linkledger/projections"
	"linkledger/projections/adoption"
	"linkledger/projections/connection"
	"linkledger/projections/keystore"
	"linkledger/projections/readmodel"
	"linkledger/projections/readmodel/controlschema"
	"linkledger/waiting"
)

const (
	// attemptTimeout bounds one attempt to reach a backend.
	attemptTimeout = 5 * time.Second
	// databaseConnections bounds the PostgreSQL connections of one process.
	databaseConnections = 24
)

// Stores are the event store and the database of a service. All fields are required.
type Stores struct {
	Store  *eventstore.Store
	DB     *readmodel.DB
	Guard  *adoption.Guard // of the database
	Logger *slog.Logger
}

// Reporting returns a context for a start. Calls with the context report what they wait for, to the
// logger and to the internal address.
func Reporting(
	ctx context.Context, internal *admin.Server, logger *slog.Logger,
) context.Context {
	log := waiting.LogTo(logger)
	return waiting.WithReport(ctx, func(ctx context.Context, what string, why error) {
		internal.ReportDependency(what, why)
		log(ctx, what, why)
	})
}

// await calls try until try succeeds, ctx ends, or try fails for another reason than an outage. It
// reports each outage. Because it waits, the processes of an installation can be started in any
// order.
func await(
	ctx context.Context, dependency string, outage func(error) bool,
	try func(context.Context) error,
) error {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = 100*time.Millisecond, 2*time.Second
	waits := false
	for {
		err := try(ctx)
		if err == nil && waits {
			waiting.Say(ctx, dependency, nil)
		}
		if err == nil || ctx.Err() != nil || !outage(err) {
			return err
		}
		waits = true
		waiting.Say(ctx, dependency, err)
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait.NextBackOff()):
		}
	}
}

// within bounds each attempt of await by attemptTimeout.
func within(try func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
		defer cancel()
		return try(ctx)
	}
}

// OpenDatabase connects to the database and migrates its schemas. It waits while the database does
// not answer. program is the version of this program. If the user can mend an error, the error is
// one of package usage and names the flag.
func OpenDatabase(
	ctx context.Context, url, program string, guards ...connection.Guard,
) (db *readmodel.DB, err error) {
	err = await(ctx, "database", connection.Unavailable, func(ctx context.Context) error {
		if err := within(func(ctx context.Context) (err error) {
			db, err = readmodel.Open(ctx, url, databaseConnections, guards...)
			return err
		})(ctx); err != nil {
			return err
		}
		db.Program = program
		if err := projections.Prepare(ctx, db); err != nil {
			return errors.Join(fmt.Errorf("prepare the database: %w", err), db.Close())
		}
		return nil
	})
	switch {
	case err == nil:
		return db, nil
	case ctx.Err() != nil: // the database is not the cause
		return nil, fmt.Errorf("stopped while the database was opened: %w", context.Cause(ctx))
	case usage.Is(err):
		return nil, err
	}
	if errors.Is(err, controlschema.ErrNewer) {
		return nil, usage.Wrap(err)
	}
	return nil, usage.Errorf("%w; --database (%s) names it", err, usage.Env("database"))
}

// Ask calls ask, and repeats the call while the database does not answer.
func Ask(ctx context.Context, ask func(context.Context) error) error {
	return await(ctx, "database", connection.Unavailable, within(ask))
}

// Secret returns a secret that all nodes share, and makes it if there is none.
func (s Stores) Secret(ctx context.Context, name string, size int) (shared []byte, err error) {
	err = Ask(ctx, func(ctx context.Context) (err error) {
		shared, err = s.DB.Keys.Secret(ctx, name, size)
		return err
	})
	return shared, err
}

// isStoreOutage reports whether an error of the event store may pass without a change by an
// operator.
func isStoreOutage(err error) bool {
	return !errors.Is(err, eventstore.ErrDenied) && !errors.Is(err, projections.ErrOtherLog) &&
		!errors.Is(err, keystore.ErrMissing)
}

// explainStore adds to an error of the event store what to change. It returns other errors
// unchanged.
func explainStore(err error) error {
	switch {
	case errors.Is(err, eventstore.ErrForbidden):
		return usage.Errorf("%w: the user of --eventstore (%s) may not read the log of all "+
			"streams ($all): an administrator grants it that with "+
			"linkledger eventstore prepare --user NAME", err, usage.Env("eventstore"))
	case errors.Is(err, eventstore.ErrDenied):
		return usage.Errorf(
			"%w: --eventstore (%s) needs other credentials", err, usage.Env("eventstore"),
		)
	case errors.Is(err, projections.ErrOtherLog):
		return usage.Errorf("%w; give --database (%s) an empty one, which is filled from the "+
			"log, or correct --eventstore (%s)",
			err, usage.Env("database"), usage.Env("eventstore"))
	}
	return err
}

// recheckInterval is the pause between two checks of a log without an account.
const recheckInterval = 5 * time.Second

// WatchLog checks that the database belongs to the log of the event store. It calls answered when
// the event store has answered and nothing shows that the database belongs to another log. It
// returns when it is certain that the database belongs to the log. While the log has no account,
// that is not certain, and WatchLog checks again.
func (s Stores) WatchLog(ctx context.Context, answered func()) error {
	known := false
	check := within(func(ctx context.Context) (err error) {
		known, err = projections.CheckLog(ctx, s.DB, s.Store)
		return err
	})
	for {
		if err := await(ctx, "event store", isStoreOutage, check); err != nil {
			return explainStore(err)
		}
		answered()
		if known {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(recheckInterval):
		}
	}
}
