package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"linkledger/commands"
	"linkledger/commands/accounts"
	"linkledger/commands/audit"
	"linkledger/commands/clicklimit"
	"linkledger/commands/clicks"
	"linkledger/commands/clicks/spool"
	"linkledger/commands/countries"
	"linkledger/commands/destination"
	"linkledger/commands/linkquota"
	"linkledger/commands/metering"
	"linkledger/commands/streams"
	"linkledger/events/eventstore"
	"linkledger/httpapi"
	"linkledger/httpapi/shortlink"
	"linkledger/projections"
	"linkledger/projections/engine"
	"linkledger/projections/engine/status"
	"linkledger/projections/readmodel"
	"linkledger/queries"
	"linkledger/queries/cache"
	"linkledger/queries/linklist"
	"linkledger/queries/progress"
)

const (
	// stopTimeout is how long the parts of the service may take to end after the last request, and their connections then.
	stopTimeout = 20 * time.Second
	// databaseConnections bounds the PostgreSQL connections of one process.
	databaseConnections = 24
	visitorKeySize      = 32 // bytes
)

// service is the program's main job: API, redirects and projections over an event store and a database.
type service struct {
	logger    *slog.Logger
	store     *eventstore.Store
	db        *readmodel.DB
	queries   *queries.DB
	fresh     *progress.Waiter
	targets   *cache.Redirects
	spool     *spool.Spool  // nil: no redirects
	countries *countries.DB // nil: not known
	commands  *commands.Handler
	accounts  *accounts.Accounts
	clicks    *clicks.Recorder
	calls     *metering.Meter
	board     status.Registry
	roles     []role
	observed  *observed
	traces    traces
	handler   http.Handler

	profiling  bool
	drainDelay time.Duration

	projecting
}

// serviceConfig of a service.
type serviceConfig struct {
	eventStore connection
	dialStore  func(context.Context) (net.Conn, error) // to an event store in this process; nil: over the network
	database   connection
	sealing
	baseURL      string
	roles        []role
	traces       bool
	logRequests  httpapi.RequestLog
	blockedHosts string // file; empty: none
	profiling    bool
	plans        plans
	origins      origins
	drainDelay   time.Duration
	redirecting
	projecting
}

// openService connects to the backends and brings the database's schema up to date. What it waits for the internal address
// tells.
func openService(ctx context.Context, p *process, admin *adminServer, cfg serviceConfig) (*service, error) {
	key, err := cfg.keys()
	if err != nil {
		return nil, usageError{err}
	}
	if key == nil {
		p.logger.InfoContext(ctx, "notes are stored as they are, and no account can be erased: --master-key is not given")
	}
	seen := newObserved()
	var sent traces
	if cfg.traces {
		if sent, err = openTraces(ctx, p); err != nil {
			return nil, err
		}
	}
	store, err := eventstore.Open(eventstore.Config{
		URL: string(cfg.eventStore), Dial: cfg.dialStore, OnCall: seen.call, Tracer: sent.tracer(), Logger: p.logger,
	})
	if err != nil {
		sent.close()
		return nil, usageError{err}
	}
	db, err := openDatabase(ctx, cfg.database, key, admin, p.logger)
	if err != nil {
		store.Close()
		sent.close()
		return nil, err
	}
	s := &service{
		logger: p.logger, store: store, db: db, queries: queries.New(db), fresh: progress.NewWaiter(db), roles: cfg.roles,
		observed: seen, traces: sent, profiling: cfg.profiling, drainDelay: cfg.drainDelay, projecting: cfg.projecting,
	}
	if err := s.wire(ctx, cfg); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *service) wire(ctx context.Context, cfg serviceConfig) error {
	visitorKey, formerKey, err := s.visitorKeys(ctx, cfg.redirecting)
	if err != nil {
		return err
	}
	var shortHosts []string
	if cfg.baseURL != "" {
		short, err := destination.ShortHost(cfg.baseURL)
		if err != nil {
			return fmt.Errorf("base URL %q: %w", cfg.baseURL, err)
		}
		shortHosts = append(shortHosts, short)
	}
	var blocked func(string) bool
	if cfg.blockedHosts != "" {
		list, err := destination.ReadBlocklist(cfg.blockedHosts, s.logger)
		if err != nil {
			return usage("%w; name another file with --blocked-hosts (%s)", err, envName("blocked-hosts"))
		}
		blocked = list.Blocks
	}
	quotas := linkquota.New(linkquota.Config{
		Store: s.store,
		Existing: func(ctx context.Context, account string, now time.Time) (linkquota.Existing, error) {
			existing, err := s.queries.Existing(ctx, account, now)
			return linkquota.Existing(existing), err
		},
	})
	streams := streams.New(streams.Config{Store: s.store, Keys: s.db, EncryptNotes: s.db.MasterKey != nil})
	s.accounts = accounts.New(streams, nil)
	s.commands = commands.NewHandler(commands.Config{
		Quotas: quotas, Streams: streams, Logger: s.logger,
		Destinations:   destination.Rules{ShortHosts: shortHosts, Blocked: blocked},
		ReservedHashes: shortlink.ReservedHashes(),
	})
	if s.targets, err = cache.NewRedirects(s.queries, cfg.CacheSize<<20); err != nil {
		return err
	}
	accounts := cache.NewAccounts(s.queries)
	s.fresh.Caches, s.fresh.OnUnowned = []progress.Cache{s.targets, accounts}, s.logUnowned
	if s.has(roleRedirect) {
		if s.spool, err = openSpool(ctx, s.logger, cfg.redirecting); err != nil {
			return err
		}
	}
	var country func(netip.Addr) string
	if s.has(roleRedirect) && cfg.Countries != "" {
		if s.countries, err = countries.Read(cfg.Countries, s.logger); err != nil {
			return usage("%w; name another file with --countries (%s)", err, envName("countries"))
		}
		country = s.countries.Of
	}
	s.clicks = clicks.New(clicks.Config{
		Store: s.store, Spool: s.spool, Patience: cfg.ClickPatience, Tracer: s.traces.tracer(), Logger: s.logger,
	})
	s.calls = metering.New(metering.Config{Store: s.store, Logger: s.logger})
	s.handler, err = httpapi.New(httpapi.Config{
		Commands: s.commands, Audit: audit.New(streams, s.store, s.logger), Queries: s.queries, Lists: linklist.New(s.db), Accounts: accounts, Targets: s.targets, Clicks: s.clicks, Calls: s.calls,
		Wait: s.fresh.WaitOwned, Demand: s.fresh.Demand, Overtake: s.fresh.Overtake, WaitTimeout: cfg.WaitTimeout,
		Plans: cfg.plans.byName, Origins: cfg.origins.list(),
		Allowances: clicklimit.New(s.store, nil), TrustedProxies: cfg.TrustedProxies, Country: country,
		BaseURL: strings.TrimSuffix(cfg.baseURL, "/"), VisitorKey: visitorKey, FormerVisitorKey: formerKey,
		Observe: s.observed.request, LoginRefused: s.observed.login, Logger: s.logger,
		Tracer: s.traces.tracer(), LogRequests: cfg.logRequests,
		API: s.has(roleAPI), Redirects: s.has(roleRedirect),
	})
	return err
}

// logUnowned logs once what each call that would wait for the projection meets.
func (s *service) logUnowned(projection string, unowned bool) {
	if unowned {
		s.logger.Warn("no process keeps the projection up to date: calls are answered without what it lacks",
			slog.String("projection", projection))
		return
	}
	s.logger.Info("the projection is kept up to date again", slog.String("projection", projection))
}

// visitorKeys returns the key of the hashes that stand for visitors and the one before, which is nil where none is named.
func (s *service) visitorKeys(ctx context.Context, cfg redirecting) (current, former []byte, err error) {
	if cfg.FormerVisitorKey != "" {
		former, err = s.db.StoredSecret(ctx, cfg.FormerVisitorKey, visitorKeySize)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, nil, usage("there is no key %q: name the one that was used before with --former-visitor-key (%s), or none",
				cfg.FormerVisitorKey, envName("former-visitor-key"))
		}
		if err != nil {
			return nil, nil, err
		}
	}
	current, err = s.db.Secret(ctx, cfg.VisitorKey, visitorKeySize)
	return current, former, err
}

// openSpool opens the spool of clicks. That it can't is for the user to mend.
func openSpool(ctx context.Context, logger *slog.Logger, cfg redirecting) (*spool.Spool, error) {
	opened, err := spool.Open(spool.Config{Dir: cfg.Spool, MaxBytes: cfg.SpoolSize << 20})
	if err != nil {
		return nil, usage("%w; choose another folder with --spool (%s)", err, envName("spool"))
	}
	if n := opened.Damaged(); n > 0 {
		logger.ErrorContext(ctx, "parts of the spool of clicks cannot be read and are kept aside as *.damaged",
			slog.String("spool", cfg.Spool), slog.Int("segments", n))
	}
	return opened, nil
}

func (s *service) has(r role) bool { return slices.Contains(s.roles, r) }

// run serves until ctx ends or a part fails, then stops all parts in the order in which they need each other.
func (s *service) run(ctx context.Context, public net.Listener, admin *adminServer) error {
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
	answered := make(chan struct{}) // closed when the event store has, with a log that the database may belong to
	start("freshness", func(ctx context.Context) error { s.fresh.Run(ctx); return nil })
	if s.has(roleProjector) {
		start("projections", func(ctx context.Context) error {
			select {
			case <-answered:
			case <-ctx.Done():
				return nil
			}
			return projections.Run(ctx, engine.Config{
				DB: s.db, Store: s.store, Logger: s.logger, OnCommit: s.fresh.Committed, Registry: &s.board,
				OnBatch: s.observed.batch, Tracer: s.traces.tracer(), Policy: s.PoisonEvents,
			})
		})
	}
	if s.has(roleRedirect) {
		start("clicks", s.clicks.Run)
	}
	if s.countries != nil {
		start("countries", s.countries.Run)
	}
	if s.has(roleAPI) {
		start("calls", s.calls.Run)
	}
	parts.Go(func() error {
		if err := s.watchLog(background, sync.OnceFunc(func() { close(answered) })); err != nil && background.Err() == nil {
			fail(err)
		}
		return nil
	})
	// The internal address is the last to go: it tells that the service is no longer ready.
	admin.handle(s.adminHandler(ctx))
	parts.Go(func() error {
		select {
		case <-background.Done():
		case <-admin.ctx.Done():
			fail(context.Cause(admin.ctx))
		}
		return admin.close()
	})

	serving := s.drainLater(ctx)
	var servers errgroup.Group
	if s.has(roleAPI) || s.has(roleRedirect) {
		servers.Go(func() error {
			// Where this version has tables of its own shape, they are built first; requests wait in the listener.
			if err := projections.AwaitShape(serving, s.db); err != nil {
				return nil //nolint:nilerr // told to stop before that
			}
			return s.serve(serving, fail, public)
		})
	}
	<-serving.Done()
	err := servers.Wait() // after the last request: its clicks and its waits need the parts
	stopBackground()
	err = errors.Join(err, within(parts.Wait))
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		err = errors.Join(cause, err)
	}
	return err
}

// drainLater returns what ends some time after ctx: until then requests are served by a service that is no longer ready.
// Where a part has failed they are not.
func (s *service) drainLater(ctx context.Context) context.Context {
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		delay := s.drainDelay
		if !errors.Is(context.Cause(ctx), context.Canceled) {
			delay = 0
		}
		s.logger.InfoContext(ctx, "stopping", slog.Duration("drain_delay", delay))
		time.AfterFunc(delay, stop)
	})
	return serving
}

// within bounds the time to stop something: what hangs then ends with the process.
func within(stop func() error) error {
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	select {
	case err := <-stopped:
		return err
	case <-time.After(stopTimeout):
		return fmt.Errorf("not everything has stopped within %s", stopTimeout)
	}
}

// catchUp waits until the read models show the log up to a position. Of events that no projection follows they learn
// only while they catch up, so it must be one from before run.
func (s *service) catchUp(ctx context.Context, to eventstore.Position) error {
	for _, projection := range []string{projections.Links, projections.Tags, projections.Accounts} {
		if err := s.fresh.Wait(ctx, projection, to.Commit); err != nil {
			return fmt.Errorf("wait for the projection %s: %w", projection, err)
		}
	}
	return nil
}

func (s *service) close() error {
	s.store.Close()
	err := s.db.Close()
	s.traces.close()
	if s.spool != nil {
		err = errors.Join(err, s.spool.Close())
	}
	return err
}
