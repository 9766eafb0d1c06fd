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
	"linkledger/projections/connection"
	"linkledger/projections/keystore"
	"linkledger/projections/keystore/keyfile"
	"linkledger/projections/readmodel"
	"linkledger/projections/readmodel/controlschema"
	"linkledger/waiting"
)

// attemptTimeout bounds one attempt to reach a backend.
const attemptTimeout = 5 * time.Second

// reporting returns a context whose calls tell the log and the internal address what a start waits
// for.
func reporting(
	ctx context.Context, internal *admin.Server, logger *slog.Logger,
) context.Context {
	log := waiting.LogTo(logger)
	return waiting.WithReport(ctx, func(ctx context.Context, what string, why error) {
		internal.ReportDependency(what, why)
		log(ctx, what, why)
	})
}

// await calls try until it succeeds, ctx ends, or it fails for another reason than an outage. It
// reports each outage. With it processes can be started in any order.
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

// openDatabase connects to the database and migrates its schemas. It waits for a database that does
// not answer.
func openDatabase(
	ctx context.Context, cfg Config, guards ...connection.Guard,
) (db *readmodel.DB, err error) {
	err = await(ctx, "database", connection.Unavailable, func(ctx context.Context) error {
		if err := within(func(ctx context.Context) (err error) {
			db, err = readmodel.Open(ctx, string(cfg.Database), databaseConnections, guards...)
			return err
		})(ctx); err != nil {
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
	if errors.Is(err, controlschema.ErrNewer) {
		return nil, usage.Wrap(err)
	}
	return nil, usage.Errorf("%w; --database (%s) names it", err, usage.Env("database"))
}

// askDatabase calls ask, again and again while the database does not answer.
func askDatabase(ctx context.Context, ask func(context.Context) error) error {
	return await(ctx, "database", connection.Unavailable, within(ask))
}

// secret returns a secret that all nodes share, and makes it if there is none.
func (s *Service) secret(ctx context.Context, name string, size int) (shared []byte, err error) {
	err = askDatabase(ctx, func(ctx context.Context) (err error) {
		shared, err = s.db.Keys.Secret(ctx, name, size)
		return err
	})
	return shared, err
}

// openKeys checks that the master key is the one of the database. It creates the schema of keys at
// the first start, and waits for the event store then, because the log must have no links yet.
func (s *Service) openKeys(ctx context.Context, master *keyfile.MasterKey) error {
	s.db.Keys.Master = master
	exist := false
	err := askDatabase(ctx, func(ctx context.Context) (err error) {
		exist, err = s.db.Keys.Exist(ctx)
		return err
	})
	if err != nil {
		return err
	}
	made := !exist
	if !exist {
		if exist, err = s.restoreKeys(ctx); err != nil {
			return config.ExplainKey(err)
		}
	}
	if !exist {
		if err := s.createKeys(ctx); err != nil {
			return err
		}
	}
	s.guard.Start(made)
	s.db.Reset()
	// Where PostgreSQL allows few connections, the projectors need theirs before readers take all.
	if err := askDatabase(ctx, s.db.Writers.Ping); err != nil {
		return err
	}
	if err := askDatabase(ctx, s.db.Keys.CheckMaster); err != nil {
		return config.ExplainKey(err)
	}
	return config.ExplainKey(
		await(ctx, "database", connection.Unavailable, s.db.Keys.CopyAll),
	)
}

// restoreKeys loads the keys from the copy that a dev keeps beside its database. It reports whether
// there was one.
func (s *Service) restoreKeys(ctx context.Context) (done bool, err error) {
	var restored keyfile.Restored
	err = await(ctx, "database", connection.Unavailable, func(ctx context.Context) (err error) {
		restored, done, err = projections.RestoreKeys(ctx, s.db)
		return err
	})
	if done && err == nil {
		s.logger.InfoContext(
			ctx, "the keys and sessions are loaded from their copy",
			slog.Int("keys", restored.Keys), slog.Int("sessions", restored.Sessions),
		)
	}
	return done, err
}

// copyKeys completes the copy of the keys before the database stops.
func (s *Service) copyKeys() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	return s.db.Keys.CopyAll(ctx)
}

func (s *Service) createKeys(ctx context.Context) error {
	var err error
	if !s.cfg.NewKeys {
		err = await(ctx, "event store", isStoreOutage, within(func(ctx context.Context) error {
			return projections.CheckNoLinks(ctx, s.Store)
		}))
	}
	switch {
	case errors.Is(err, keystore.ErrMissing):
		return usage.Errorf("%w, but the log has links: restore the schema from a backup, "+
			"after DROP SCHEMA IF EXISTS linkledger_keys CASCADE. If there is none, start once "+
			"with --new-keys (%s): notes that were encrypted are then lost, and known visitors "+
			"count as new ones", err, usage.Env("new-keys"))
	case err != nil:
		return explainStore(err)
	}
	if s.cfg.NewKeys {
		outage := func(err error) bool {
			return connection.Unavailable(err) || errors.Is(err, eventstore.ErrUnavailable)
		}
		return explainStore(await(ctx, "database or event store", outage,
			func(ctx context.Context) error {
				return projections.CreateWithoutKeys(ctx, s.db, s.Store)
			}))
	}
	return await(ctx, "database", connection.Unavailable, func(ctx context.Context) error {
		return s.db.Locked(ctx, s.db.Keys.Create)
	})
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
	check := within(func(ctx context.Context) (err error) {
		known, err = projections.CheckLog(ctx, s.db, s.Store)
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
