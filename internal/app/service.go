package app

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
	"time"

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
	"linkledger/internal/admin"
	"linkledger/internal/config"
	"linkledger/internal/telemetry"
	"linkledger/internal/usage"
	"linkledger/projections"
	"linkledger/projections/engine/status"
	"linkledger/projections/readmodel"
	"linkledger/queries"
	"linkledger/queries/cache"
	"linkledger/queries/linklist"
	"linkledger/queries/progress"
)

const (
	// stopTimeout is how long the parts of the service may take to end after the last request, and
	// their connections then.
	stopTimeout = 20 * time.Second
	// databaseConnections bounds the PostgreSQL connections of one process.
	databaseConnections = 24
	visitorKeySize      = 32 // bytes
)

// Service is a running service: API, redirects and projections over an event store and a database.
type Service struct {
	Store    *eventstore.Store
	Accounts *accounts.Accounts
	Waiter   *progress.Waiter

	cfg       Config
	logger    *slog.Logger
	db        *readmodel.DB
	queries   *queries.DB
	redirects *cache.Redirects
	commands  *commands.Handler
	spool     *spool.Spool  // nil: no redirects
	countries *countries.DB // nil: not known
	clicks    *clicks.Recorder
	calls     *metering.Meter
	registry  status.Registry
	metrics   *telemetry.Metrics
	traces    telemetry.Traces
	handler   http.Handler
}

// Config of a service.
type Config struct {
	config.Serving
	config.Backends
	config.Redirecting
	config.Projecting
	// to an event store in this process; nil: over the network
	DialStore func(context.Context) (net.Conn, error)
	Origins   config.Origins
	Roles     []config.Role
	Version   string              // of the program, for traces
	Getenv    func(string) string // for traces
	Logger    *slog.Logger
}

// Open connects to the backends and brings the database's schema up to date. What it waits for the
// internal address tells.
func Open(ctx context.Context, cfg Config, internal *admin.Server) (*Service, error) {
	key, err := cfg.Keys()
	if err != nil {
		return nil, usage.Wrap(err)
	}
	if key == nil {
		cfg.Logger.InfoContext(
			ctx,
			"notes are stored as they are, and no account can be erased: --master-key is not given",
		)
	}
	counted := telemetry.NewMetrics()
	var sent telemetry.Traces
	if cfg.Traces {
		if sent, err = telemetry.OpenTraces(ctx, cfg.Getenv, cfg.Version, cfg.Logger); err != nil {
			return nil, err
		}
	}
	store, err := eventstore.Open(eventstore.Config{
		URL: string(cfg.Eventstore), Dial: cfg.DialStore, OnCall: counted.Call,
		Tracer: sent.Tracer(), Logger: cfg.Logger,
	})
	if err != nil {
		sent.Close()
		return nil, usage.Wrap(err)
	}
	db, err := openDatabase(ctx, cfg.Database, key, internal, cfg.Logger)
	if err != nil {
		store.Close()
		sent.Close()
		return nil, err
	}
	s := &Service{
		Store: store, Waiter: progress.NewWaiter(db), cfg: cfg, logger: cfg.Logger, db: db,
		queries: queries.New(db),
		metrics: counted, traces: sent,
	}
	if err := s.wire(ctx); err != nil {
		return nil, errors.Join(err, s.closeAll())
	}
	return s, nil
}

func (s *Service) wire(ctx context.Context) error {
	cfg := s.cfg
	visitorKey, formerKey, err := s.visitorKeys(ctx, cfg.Redirecting)
	if err != nil {
		return err
	}
	var shortHosts []string
	if cfg.BaseURL != "" {
		short, err := destination.ShortHost(cfg.BaseURL)
		if err != nil {
			return fmt.Errorf("base URL %q: %w", cfg.BaseURL, err)
		}
		shortHosts = append(shortHosts, short)
	}
	var blocked func(string) bool
	if cfg.BlockedHosts != "" {
		list, err := destination.ReadBlocklist(cfg.BlockedHosts, s.logger)
		if err != nil {
			return usage.Errorf(
				"%w; name another file with --blocked-hosts (%s)", err, usage.Env("blocked-hosts"),
			)
		}
		blocked = list.Blocks
	}
	quotas := linkquota.New(linkquota.Config{
		Store: s.Store,
		Existing: func(
			ctx context.Context, account string, now time.Time,
		) (linkquota.Existing, error) {
			existing, err := s.queries.Existing(ctx, account, now)
			return linkquota.Existing(existing), err
		},
	})
	written := streams.New(
		streams.Config{Store: s.Store, Keys: s.db, EncryptNotes: s.db.MasterKey != nil},
	)
	s.Accounts = accounts.New(written, nil)
	s.commands = commands.NewHandler(commands.Config{
		Quotas: quotas, Streams: written, Logger: s.logger,
		Destinations:   destination.Rules{ShortHosts: shortHosts, Blocked: blocked},
		ReservedHashes: shortlink.ReservedHashes(),
	})
	if s.redirects, err = cache.NewRedirects(s.queries, cfg.CacheSize<<20); err != nil {
		return err
	}
	cachedAccounts := cache.NewAccounts(s.queries)
	s.Waiter.Caches, s.Waiter.OnUnowned = []progress.Cache{
		s.redirects, cachedAccounts,
	}, s.logUnowned
	if s.has(config.RoleRedirect) {
		if s.spool, err = openSpool(ctx, s.logger, cfg.Redirecting); err != nil {
			return err
		}
	}
	var country func(netip.Addr) string
	if s.has(config.RoleRedirect) && cfg.Countries != "" {
		if s.countries, err = countries.Read(cfg.Countries, s.logger); err != nil {
			return usage.Errorf(
				"%w; name another file with --countries (%s)", err, usage.Env("countries"),
			)
		}
		country = s.countries.Of
	}
	s.clicks = clicks.New(clicks.Config{
		Store: s.Store, Spool: s.spool, Patience: cfg.ClickPatience, Tracer: s.traces.Tracer(),
		Logger: s.logger,
	})
	s.calls = metering.New(metering.Config{Store: s.Store, Logger: s.logger})
	s.handler, err = httpapi.New(httpapi.Config{
		Commands: s.commands, Audit: audit.New(written, s.Store, s.logger), Queries: s.queries,
		Lists: linklist.New(s.db), Accounts: cachedAccounts, Targets: s.redirects, Clicks: s.clicks,
		Calls: s.calls,
		Wait:  s.Waiter.WaitOwned, Demand: s.Waiter.Demand, Overtake: s.Waiter.Overtake,
		WaitTimeout: cfg.WaitTimeout,
		Plans:       cfg.Plans.ByName, Origins: cfg.Origins.List(),
		Allowances: clicklimit.New(s.Store, nil), TrustedProxies: cfg.TrustedProxies,
		Country: country,
		BaseURL: strings.TrimSuffix(cfg.BaseURL, "/"), VisitorKey: visitorKey,
		FormerVisitorKey: formerKey,
		Observe:          s.metrics.Request, LoginRefused: s.metrics.Login, Logger: s.logger,
		Tracer: s.traces.Tracer(), LogRequests: httpapi.RequestLog(cfg.LogRequests),
		API: s.has(config.RoleAPI), Redirects: s.has(config.RoleRedirect),
	})
	return err
}

// logUnowned logs once what each call that would wait for the projection meets.
func (s *Service) logUnowned(projection string, unowned bool) {
	if unowned {
		s.logger.Warn("no process keeps the projection up to date: calls are answered without "+
			"what it lacks",
			slog.String("projection", projection))
		return
	}
	s.logger.Info("the projection is kept up to date again", slog.String("projection", projection))
}

// visitorKeys returns the key of the hashes that stand for visitors and the one before, which is
// nil where none is named.
func (s *Service) visitorKeys(
	ctx context.Context, cfg config.Redirecting,
) (current, former []byte, err error) {
	if cfg.FormerVisitorKey != "" {
		former, err = s.db.StoredSecret(ctx, cfg.FormerVisitorKey, visitorKeySize)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, nil, usage.Errorf("there is no key %q: name the one that was used before "+
				"with --former-visitor-key (%s), or none",
				cfg.FormerVisitorKey, usage.Env("former-visitor-key"))
		}
		if err != nil {
			return nil, nil, err
		}
	}
	current, err = s.db.Secret(ctx, cfg.VisitorKey, visitorKeySize)
	return current, former, err
}

// openSpool opens the spool of clicks. That it can't is for the user to mend.
func openSpool(
	ctx context.Context, logger *slog.Logger, cfg config.Redirecting,
) (*spool.Spool, error) {
	opened, err := spool.Open(spool.Config{Dir: cfg.Spool, MaxBytes: cfg.SpoolSize << 20})
	if err != nil {
		return nil, usage.Errorf(
			"%w; choose another folder with --spool (%s)", err, usage.Env("spool"),
		)
	}
	if n := opened.Damaged(); n > 0 {
		logger.ErrorContext(ctx, "parts of the spool of clicks cannot be read and are kept aside "+
			"as *.damaged",
			slog.String("spool", cfg.Spool), slog.Int("segments", n))
	}
	return opened, nil
}

func (s *Service) has(r config.Role) bool { return slices.Contains(s.cfg.Roles, r) }

// CatchUp waits until the read models show the log up to a position. Of events that no projection
// follows they learn only while they catch up, so it must be one from before run.
func (s *Service) CatchUp(ctx context.Context, to eventstore.Position) error {
	for _, projection := range []string{projections.Links, projections.Tags, projections.Accounts} {
		if err := s.Waiter.Wait(ctx, projection, to.Commit); err != nil {
			return fmt.Errorf("wait for the projection %s: %w", projection, err)
		}
	}
	return nil
}

// Close ends what is left of a service that has run, or that never ran.
func (s *Service) Close() error { return stopWithin(s.closeAll) }

func (s *Service) closeAll() error {
	s.Store.Close()
	err := s.db.Close()
	s.traces.Close()
	if s.spool != nil {
		err = errors.Join(err, s.spool.Close())
	}
	return err
}
