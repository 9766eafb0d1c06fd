package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"

	"linkledger/events/eventstore"
	"linkledger/internal/admin"
	"linkledger/internal/config"
	"linkledger/internal/secret"
	"linkledger/internal/usage"
	"linkledger/projections"
	"linkledger/projections/readmodel"
)

// attemptTimeout bounds one attempt to reach a backend.
const attemptTimeout = 5 * time.Second

// await calls try until it succeeds, ctx ends, or it fails for another reason than an outage. With
// it processes can be started in any order.
func await(
	ctx context.Context, logger *slog.Logger, dependency string, outage func(error) bool,
	try func() error,
) error {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = 100*time.Millisecond, 5*time.Second
	name := slog.String("dependency", dependency)
	waiting := false
	for {
		err := try()
		if err == nil && waiting {
			logger.InfoContext(ctx, "the dependency answers", name)
		}
		if err == nil || ctx.Err() != nil || !outage(err) {
			return err
		}
		waiting = true
		delay := wait.NextBackOff()
		logger.WarnContext(
			ctx, "waiting for what this process depends on", name, slog.Any("error", err),
			slog.Duration("again_in", delay),
		)
		select {
		case <-ctx.Done():
			return err
		case <-time.After(delay):
		}
	}
}

// openDatabase connects to the database, migrates its schema, and checks that the master key is the
// one of the database. It waits for a database that does not answer.
func openDatabase(
	ctx context.Context, dsn secret.Connection, key *readmodel.MasterKey, internal *admin.Server,
	logger *slog.Logger,
) (db *readmodel.DB, err error) {
	err = await(ctx, logger, "database", readmodel.Unavailable, func() (err error) {
		defer func() { internal.ReportDependency("database", err) }()
		trying, cancel := context.WithTimeout(ctx, attemptTimeout)
		defer cancel()
		if db, err = readmodel.Open(trying, string(dsn), databaseConnections); err != nil {
			return err
		}
		if err := projections.Prepare(ctx, db); err != nil {
			return errors.Join(fmt.Errorf("prepare the database: %w", err), db.Close())
		}
		db.MasterKey = key
		if err := db.CheckMasterKey(trying); err != nil {
			return errors.Join(config.ExplainKey(err), db.Close())
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
	return nil, usage.Errorf("%w; --database (%s) names it", err, usage.Env("database"))
}

// recheckInterval is the pause between two checks of a log without an account.
const recheckInterval = 5 * time.Second

// watchLog checks that the database belongs to the log of the event store. It calls answered when
// the event store has answered and nothing contradicts that, and returns when it is certain. A log
// without an account leaves it open.
func (s *Service) watchLog(ctx context.Context, answered func()) error {
	outage := func(err error) bool {
		return !errors.Is(err, eventstore.ErrDenied) && !errors.Is(err, projections.ErrOtherLog)
	}
	known := false
	check := func() (err error) {
		trying, cancel := context.WithTimeout(ctx, attemptTimeout)
		defer cancel()
		known, err = projections.CheckLog(trying, s.db, s.Store)
		return err
	}
	for {
		err := await(ctx, s.logger, "event store", outage, check)
		switch {
		case errors.Is(err, eventstore.ErrForbidden):
			return usage.Errorf("%w: the user of --eventstore (%s) may not read the log of all "+
				"streams ($all): an administrator grants it that with "+
				" linkledger eventstore prepare --user NAME", err, usage.Env("eventstore"))
		case errors.Is(err, eventstore.ErrDenied):
			return usage.Errorf(
				"%w: --eventstore (%s) needs other credentials", err, usage.Env("eventstore"),
			)
		case errors.Is(err, projections.ErrOtherLog):
			return usage.Errorf("%w; give --database (%s) an empty one, which is filled from the "+
				"log, or correct --eventstore (%s)",
				err, usage.Env("database"), usage.Env("eventstore"))
		case err != nil:
			return err
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
