package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"linkledger/internal/admin"
	"linkledger/internal/app/startup"
	"linkledger/internal/config"
	"linkledger/internal/daemon"
	"linkledger/internal/telemetry"
	"linkledger/projections"
	"linkledger/projections/engine"
	"linkledger/projections/engine/rebuild"
)

// Run serves until ctx ends or a part fails. Then it stops the parts in the order of their
// dependencies: the HTTP servers first, then the parts that their requests use.
func (s *Service) Run(ctx context.Context, public *Public, internal *admin.Server) error {
	ctx, fail := context.WithCancelCause(startup.Reporting(ctx, internal, s.logger))
	defer fail(nil)
	background, stopBackground := context.WithCancel(context.WithoutCancel(ctx))
	defer stopBackground()

	var parts errgroup.Group
	s.startParts(background, &parts, fail)
	// The internal address closes last, so that it reports the service as not ready until the end.
	internal.SetService(s.adminService(ctx))
	parts.Go(func() error {
		select {
		case <-background.Done():
		case <-internal.Done():
			err := internal.Err()
			if errors.Is(err, context.Canceled) { // else Run would take err for a signal to stop
				err = errors.New("the internal address is closed")
			}
			fail(err)
		}
		return internal.Close()
	})

	serving := s.drainLater(ctx, public)
	parts.Go(func() error {
		err := s.openGate(background, public)
		if err != nil && background.Err() == nil {
			fail(err)
		}
		if err == nil {
			s.Level.Run(background)
		}
		return nil
	})
	context.AfterFunc(public.ctx, func() { fail(context.Cause(public.ctx)) }) // the server failed
	<-serving.Done()
	err := public.Close() // first, because requests in flight need the parts
	stopBackground()
	err = errors.Join(err, stopWithin(parts.Wait), stopWithin(s.copyKeys))
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		err = errors.Join(cause, err)
	}
	return err
}

// openGate waits until held returns, if held is set. Then it lets the service answer requests.
func (s *Service) openGate(ctx context.Context, public *Public) error {
	if s.held != nil {
		if err := s.held(ctx); err != nil {
			return err
		}
		s.building.Store(false)
	}
	s.clocks.Check(ctx)
	// The check fails if the event store or the database does not answer. Then it is not known
	// whether the log lacks events of the read models. Even so the service answers requests.
	_ = s.Level.Check(ctx)
	public.gate.Open(s.handler, s.clocks.Problem)
	return nil
}

// startParts runs the parts of the service until background ends. It calls fail if a part ends
// before that.
func (s *Service) startParts(
	background context.Context, parts *errgroup.Group, fail context.CancelCauseFunc,
) {
	start := func(name string, part func(context.Context) error) {
		parts.Go(func() error {
			err := part(background)
			if background.Err() == nil {
				fail(fmt.Errorf("%s: %w", name, cmp.Or(err, errors.New("ended by itself"))))
			}
			return nil
		})
	}
	// logChecked is closed when the event store has answered and nothing shows that the database
	// belongs to another log.
	logChecked := make(chan struct{})
	watch := func(name string, part func(context.Context)) {
		start(name, func(ctx context.Context) error {
			part(ctx)
			return nil
		})
	}
	watch("progress of projections", s.Waiter.Run)
	if s.has(config.RoleProjector) {
		owner := engine.ProcessName()
		start("webhooks", func(ctx context.Context) error {
			return s.runEffects(ctx, owner, logChecked)
		})
		start("projections", func(ctx context.Context) error {
			select {
			case <-logChecked:
			case <-ctx.Done():
				return nil
			}
			return engine.Run(ctx, projections.All(), engine.Config{
				DB: s.db, Store: s.Store, Logger: s.logger, OnCommit: s.Waiter.Committed,
				Registry: &s.registry, Owner: owner,
				OnBatch: s.metrics.Batch, Tracer: s.traces.Tracer(),
			})
		})
	}
	// If this version needs tables of a new shape, they are built first. Meanwhile requests are
	// refused.
	parts.Go(func() error {
		if err := rebuild.AwaitShapes(background, s.db, projections.Names()); err == nil {
			close(s.served)
		}
		return nil // an error means that the service is stopping
	})
	watch("adoption of databases", func(ctx context.Context) { s.guard.Run(ctx, s.db.Reset) })
	watch("answers of the event store", s.Store.Watch)
	watch("answers of the database", s.database.Run)
	start("clocks", s.clocks.Run)
	start("console of operators", s.operators.Run)
	start("copy of the keys", func(ctx context.Context) error {
		return s.db.Keys.Follow(ctx, s.logger)
	})
	if s.cfg.Backups != nil {
		start("backups", func(ctx context.Context) error {
			return s.cfg.Backups.Run(ctx, s.db.Keys)
		})
	}
	if s.has(config.RoleRedirect) {
		start("clicks", s.Visits.Clicks.Run)
	}
	start("agents", s.agents.Run)
	if s.countries != nil {
		start("countries", s.countries.Run)
	}
	if s.has(config.RoleAPI) {
		start("calls", s.UsageMeter.Run)
		start("sign-in", func(ctx context.Context) error {
			s.handler.WatchSignIn(ctx)
			<-ctx.Done()
			return nil
		})
		start("uses of keys", s.keyUses.Run)
	}
	parts.Go(func() error {
		err := s.stores.WatchLog(background, sync.OnceFunc(func() { close(logChecked) }))
		if err != nil && background.Err() == nil {
			fail(err)
		}
		return nil
	})
}

// adminService returns what the internal address shows of the service. The service is not ready
// once stopping has ended.
func (s *Service) adminService(stopping context.Context) *admin.Service {
	var backupState func() string
	var backupAge func() (time.Duration, bool)
	if s.cfg.Backups != nil {
		backupState, backupAge = s.cfg.Backups.State, s.cfg.Backups.Age
	}
	return &admin.Service{
		Stopping: stopping, Store: s.Store, DB: s.db, Disk: s.disk,
		Projections: &s.registry,
		Clicks:      s.Visits.Clicks, Spooled: s.spool != nil, API: s.has(config.RoleAPI),
		Served: s.served, MaxLag: s.cfg.ReadyMaxLag, Clocks: s.clocks,
		SignIn: s.handler.SignInFault, Building: s.building.Load, Backup: backupState,
		Metrics: s.metrics.Handler(telemetry.Sources{
			Projections: &s.registry, Redirects: s.Visits.Cache, Clicks: s.Visits.Clicks, DB: s.db,
			Disk: s.disk, Store: s.Store, Logger: s.logger, LostLines: s.cfg.LostLines,
			BackupAge: backupAge,
		}),
		Console: s.operators, Profiling: s.cfg.Profiling, Logger: s.logger,
	}
}

// drainLater returns a context that ends DrainDelay after ctx. In between, the service still
// answers requests but is no longer ready, so that load balancers notice and clients leave. The
// context ends at once if a part has failed, or at a second signal.
func (s *Service) drainLater(ctx context.Context, public *Public) context.Context {
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		public.Drain()
		delay := s.cfg.DrainDelay
		if !errors.Is(context.Cause(ctx), context.Canceled) {
			delay = 0
		}
		s.logger.InfoContext(ctx, "stopping", slog.Duration("drain_delay", delay))
		time.AfterFunc(delay, stop)
		context.AfterFunc(daemon.Urgent(ctx), stop)
	})
	return serving
}

// copyKeys completes the copy of the keys before the database stops.
func (s *Service) copyKeys() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	return s.db.Keys.CopyAll(ctx)
}

// stopWithin waits for stop for at most stopTimeout. After that it returns an error, and what still
// hangs ends with the process.
func stopWithin(stop func() error) error {
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	select {
	case err := <-stopped:
		return err
	case <-time.After(stopTimeout):
		return fmt.Errorf("some parts did not stop within %s", stopTimeout)
	}
}
