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
	"linkledger/internal/usage"
	"linkledger/projections"
	"linkledger/projections/keystore"
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

// openDatabase connects to the database and migrates its schemas. It waits for a database that does
// not answer.
func openDatabase(
	ctx context.Context, cfg Config, internal *admin.Server,
) (db *readmodel.DB, err error) {
	err = await(ctx, cfg.Logger, "database", readmodel.Unavailable, func() (err error) {
		defer func() { internal.ReportDependency("database", err) }()
		trying, cancel := context.WithTimeout(ctx, attemptTimeout)
		defer cancel()
		if db, err = readmodel.Open(trying, string(cfg.Database), databaseConnections); err != nil {
			return err
		}
		db.Program = cfg.Version
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
	if errors.Is(err, readmodel.ErrNewer) {
		return nil, usage.Wrap(err)
	}
	return nil, usage.Errorf("%w; --database (%s) names it", err, usage.Env("database"))
}

// openKeys checks that the master key is the one of the database. It creates the schema of keys at
// the first start, and waits for the event store then, because the log must have no links yet.
func (s *Service) openKeys(
	ctx context.Context, master *keystore.MasterKey, internal *admin.Server,
) error {
	s.db.Keys.Master = master
	exist, err := s.db.Keys.Exist(ctx)
	if err != nil {
		return err
	}
	if !exist {
		err := await(ctx, s.logger, "event store", isStoreOutage, func() (err error) {
			defer func() { internal.ReportDependency("event store", err) }()
			trying, cancel := context.WithTimeout(ctx, attemptTimeout)
			defer cancel()
			return projections.CreateKeys(trying, s.db, s.Store, s.cfg.NewKeys)
		})
		switch {
		case errors.Is(err, keystore.ErrMissing):
			return usage.Errorf("%w, but the log has links: restore the schema from a backup. If "+
				"there is none, start once with --new-keys (%s): notes that were encrypted are "+
				"then lost, and known visitors count as new ones", err, usage.Env("new-keys"))
		case err != nil:
			return explainStore(err)
		}
	}
	return config.ExplainKey(s.db.Keys.CheckMaster(ctx))
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
			" linkledger eventstore prepare --user NAME", err, usage.Env("eventstore"))
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

// watchLog checks that the database belongs to the log of the event store. It calls answered when
// the event store has answered and nothing contradicts that, and returns when it is certain. A log
// without an account leaves it open.
func (s *Service) watchLog(ctx context.Context, answered func()) error {
	known := false
	check := func() (err error) {
		trying, cancel := context.WithTimeout(ctx, attemptTimeout)
		defer cancel()
		known, err = projections.CheckLog(trying, s.db, s.Store)
		return err
	}
	for {
		if err := await(ctx, s.logger, "event store", isStoreOutage, check); err != nil {
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
