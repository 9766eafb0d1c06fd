package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"linkledger/httpapi/shortlink"
	"linkledger/internal/admin"
	"linkledger/internal/config"
	"linkledger/internal/httpserver"
	"linkledger/internal/telemetry"
	"linkledger/projections"
	"linkledger/projections/engine"
)

// Run serves until ctx ends or a part fails, then stops all parts in the order in which they need
// each other.
func (s *Service) Run(ctx context.Context, public net.Listener, internal *admin.Server) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	background, stopBackground := context.WithCancel(context.WithoutCancel(ctx))
	defer stopBackground()

	var parts errgroup.Group
	start := func(name string, part func(context.Context) error) {
		parts.Go(func() error {
			err := part(background)
			if background.Err() != nil {
				return nil
			}
			if err == nil {
				err = errors.New("ended by itself")
			}
			fail(fmt.Errorf("%s: %w", name, err))
			return nil
		})
	}
	// closed when the event store has, with a log that the database may belong to
	answered := make(chan struct{})
	start("freshness", func(ctx context.Context) error { s.Waiter.Run(ctx); return nil })
	if s.has(config.RoleProjector) {
		start("projections", func(ctx context.Context) error {
			select {
			case <-answered:
			case <-ctx.Done():
				return nil
			}
			return projections.Run(ctx, engine.Config{
				DB: s.db, Store: s.Store, Logger: s.logger, OnCommit: s.Waiter.Committed,
				Registry: &s.registry,
				OnBatch:  s.metrics.Batch, Tracer: s.traces.Tracer(), Policy: s.cfg.PoisonEvents,
			})
		})
	}
	if s.has(config.RoleRedirect) {
		start("clicks", s.clicks.Run)
	}
	if s.countries != nil {
		start("countries", s.countries.Run)
	}
	if s.has(config.RoleAPI) {
		start("calls", s.calls.Run)
	}
	parts.Go(func() error {
		if err := s.watchLog(background, sync.OnceFunc(func() { close(answered) })); err != nil &&
			background.Err() == nil {
			fail(err)
		}
		return nil
	})
	// The internal address is the last to go: it tells that the service is no longer ready.
	internal.SetService(&admin.Service{
		Stopping: ctx, Store: s.Store, DB: s.db, Clicks: s.clicks, Spooled: s.spool != nil,
		MaxLag: s.cfg.ReadyMaxLag,
		Metrics: s.metrics.Handler(telemetry.Sources{
			Projections: &s.registry, Redirects: s.redirects, Clicks: s.clicks, DB: s.db,
			Store: s.Store, Logger: s.logger,
		}),
		Profiling: s.cfg.Profiling, Logger: s.logger,
	})
	parts.Go(func() error {
		select {
		case <-background.Done():
		case <-internal.Done():
			fail(internal.Err())
		}
		return internal.Close()
	})

	serving := s.drainLater(ctx)
	var servers errgroup.Group
	if s.has(config.RoleAPI) || s.has(config.RoleRedirect) {
		servers.Go(func() error {
			// Where this version has tables of its own shape, they are built first; requests wait
			// in the listener.
			if err := projections.AwaitShape(serving, s.db); err != nil {
				return nil //nolint:nilerr // told to stop before that
			}
			return s.serve(serving, fail, public)
		})
	}
	<-serving.Done()
	err := servers.Wait() // after the last request: its clicks and its waits need the parts
	stopBackground()
	err = errors.Join(err, stopWithin(parts.Wait))
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		err = errors.Join(cause, err)
	}
	return err
}

// drainLater returns what ends some time after ctx: until then requests are served by a service
// that is no longer ready. Where a part has failed they are not.
func (s *Service) drainLater(ctx context.Context) context.Context {
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		delay := s.cfg.DrainDelay
		if !errors.Is(context.Cause(ctx), context.Canceled) {
			delay = 0
		}
		s.logger.InfoContext(ctx, "stopping", slog.Duration("drain_delay", delay))
		time.AfterFunc(delay, stop)
	})
	return serving
}

// stopWithin bounds the time to stop something: what hangs then ends with the process.
func stopWithin(stop func() error) error {
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	select {
	case err := <-stopped:
		return err
	case <-time.After(stopTimeout):
		return fmt.Errorf("not everything has stopped within %s", stopTimeout)
	}
}

// serve answers what comes to the public address.
func (s *Service) serve(
	ctx context.Context, fail context.CancelCauseFunc, public net.Listener,
) error {
	if s.has(config.RoleRedirect) {
		return httpserver.ServeFast(ctx, fail, s.handler, shortlink.IsPath, public, s.logger)
	}
	return httpserver.Serve(ctx, fail, s.handler, public, s.logger)
}
