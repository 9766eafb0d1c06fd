package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"

	"linkledger/events/eventstore"
	"linkledger/projections"
	"linkledger/projections/readmodel"
)

// attemptTimeout bounds one try to reach what the service depends on.
const attemptTimeout = 5 * time.Second

// await tries until it succeeds, ctx ends, or it fails for another reason than an outage. So processes may be started in
// any order.
func await(ctx context.Context, logger *slog.Logger, dependency string, outage func(error) bool, try func() error) error {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = 100*time.Millisecond, 5*time.Second
	name := slog.String("dependency", dependency)
	waiting := false
	for {
		err := try()
		if err == nil && waiting {
			logger.InfoContext(ctx, "it answers", name)
		}
		if err == nil || ctx.Err() != nil || !outage(err) {
			return err
		}
		waiting = true
		delay := wait.NextBackOff()
		logger.WarnContext(ctx, "waiting for what this process depends on", name, slog.Any("error", err), slog.Duration("again_in", delay))
		select {
		case <-ctx.Done():
			return err
		case <-time.After(delay):
		}
	}
}

// openDatabase connects to the database and brings its schema up to date. It waits for a database that does not answer.
func openDatabase(ctx context.Context, dsn connection, logger *slog.Logger) (db *readmodel.DB, err error) {
	err = await(ctx, logger, "database", readmodel.Unavailable, func() error {
		trying, cancel := context.WithTimeout(ctx, attemptTimeout)
		defer cancel()
		if db, err = readmodel.Open(trying, string(dsn), databaseConnections); err != nil {
			return err
		}
		if err := projections.Prepare(ctx, db); err != nil {
			return errors.Join(fmt.Errorf("prepare the database: %w", err), db.Close())
		}
		return nil
	})
	if err != nil {
		return nil, usage("%w; --database (%s) names it", err, envName("database"))
	}
	return db, nil
}

// awaitEventStore returns when the event store has answered. Meanwhile the service does what it can without.
func (s *service) awaitEventStore(ctx context.Context) error {
	unavailable := func(err error) bool { return errors.Is(err, eventstore.ErrUnavailable) }
	err := await(ctx, s.logger, "event store", unavailable, func() error {
		trying, cancel := context.WithTimeout(ctx, attemptTimeout)
		defer cancel()
		_, err := s.store.Head(trying)
		return err
	})
	if errors.Is(err, eventstore.ErrDenied) {
		return usage("%w: --eventstore (%s) needs other credentials", err, envName("eventstore"))
	}
	return err
}
