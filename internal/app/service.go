package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"linkledger/commands"
	"linkledger/commands/accounts"
	"linkledger/commands/answered"
	"linkledger/commands/audit"
	"linkledger/commands/clicklimit"
	"linkledger/commands/clicks"
	"linkledger/commands/clicks/spool"
	"linkledger/commands/countries"
	"linkledger/commands/destination"
	"linkledger/commands/linkquota"
	"linkledger/commands/metering"
	"linkledger/commands/proofs"
	"linkledger/commands/streams"
	"linkledger/events/eventstore"
	"linkledger/httpapi"
	"linkledger/httpapi/agent"
	"linkledger/internal/admin"
	"linkledger/internal/clockcheck"
	"linkledger/internal/config"
	"linkledger/internal/operators"
	"linkledger/internal/signinlink"
	"linkledger/internal/telemetry"
	"linkledger/internal/usage"
	"linkledger/projections"
	"linkledger/projections/adoption"
	"linkledger/projections/connection"
	"linkledger/projections/engine/status"
	"linkledger/projections/keystore"
	"linkledger/projections/keystore/keyuse"
	"linkledger/projections/level"
	"linkledger/projections/readmodel"
	"linkledger/queries"
	"linkledger/queries/cache"
	"linkledger/queries/linklist"
	"linkledger/queries/logtree"
	"linkledger/queries/progress"
	"linkledger/queries/sessionlist"
)

const (
	// stopTimeout bounds the end of the parts after the last request, and then that of their
	// connections.
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
	guard     *adoption.Guard
	database  *connection.Watch
	disk      *connection.Disk // of the database
	queries   *queries.DB
	redirects *cache.Redirects
	commands  *commands.Handler
	spool     *spool.Spool  // nil without the redirect role
	countries *countries.DB // nil without --countries
	agents    *agent.List
	clicks    *clicks.Recorder
	calls     *metering.Meter
	keyUses   *keyuse.Uses
	registry  status.Registry
	metrics   *telemetry.Metrics
	traces    telemetry.Traces
	handler   *httpapi.Server
	served    chan struct{} // closed once the read models have the tables of this version
	operators *operators.Handler
	clocks    *clockcheck.Checker
	level     *level.Watch
	held      func(context.Context) error // requests wait for it; nil: for nothing
	building  atomic.Bool                 // requests wait for held
}

// Config is the configuration of a service.
type Config struct {
	config.Serving
	config.Backends
	config.Redirecting
	config.Projecting

	// DialStore connects to an event store in this process. If nil, the network is used.
	DialStore func(context.Context) (net.Conn, error)
	Origins   config.Origins
	Roles     []config.Role
	Version   string              // version of the program, for traces and operators
	Settings  []operators.Setting // flags of the process, for operators
	Getenv    func(string) string // environment, for traces
	Logger    *slog.Logger
	LostLines func() uint64 // how many lines of the log could not be written
	Backups   Backups       // nil: this process makes none
}

// Backups makes backups of the installation at intervals.
type Backups interface {
	// Run makes them until ctx ends, with the keys of the database that serves.
	Run(ctx context.Context, keys *keystore.Keys) error
	// Age returns how old the newest one is, if there is one.
	Age() (age time.Duration, known bool)
	// State returns a line for a probe.
	State() string
}

// SignInLink makes a one-time link that signs a browser in.
func (s *Service) SignInLink(
	ctx context.Context, wanted signinlink.Wanted,
) (signinlink.Link, error) {
	return signinlink.Make(ctx, s.queries, s.db.Keys, wanted)
}

// Open connects to the backends and migrates the schema of the database. While it waits for a
// backend, the internal address reports which one.
func Open(ctx context.Context, cfg Config, internal *admin.Server) (*Service, error) {
	ctx = reporting(ctx, internal, cfg.Logger)
	key, err := cfg.Keys()
	if err != nil {
		return nil, usage.Wrap(err)
	}
	if key == nil {
		cfg.Logger.InfoContext(
			ctx,
			"notes are stored in plain text, and no account can be erased: --master-key is not "+
				"given",
		)
	}
	metrics := telemetry.NewMetrics()
	var traces telemetry.Traces
	if cfg.Traces {
		if traces, err = telemetry.OpenTraces(
			ctx, cfg.Getenv, cfg.Version, cfg.Logger,
		); err != nil {
			return nil, err
		}
	}
	store, err := eventstore.Open(eventstore.Config{
		URL: string(cfg.Eventstore), Dial: cfg.DialStore, OnCall: metrics.Call,
		Tracer: traces.Tracer(), Logger: cfg.Logger,
	})
	if err != nil {
		traces.Close()
		return nil, usage.Wrap(err)
	}
	guard := adoption.New(adoption.Config{
		Store: store, Replace: cfg.ReplaceDatabase, Logger: cfg.Logger,
	})
	watch := connection.NewWatch(cfg.Logger)
	disk := connection.NewDisk(cfg.Logger)
	db, err := openDatabase(ctx, cfg, watch.Guard, disk.Guard, guard.Watch)
	if err != nil {
		store.Close()
		traces.Close()
		return nil, err
	}
	s := &Service{
		Store: store, Waiter: progress.NewWaiter(db), cfg: cfg, logger: cfg.Logger, db: db,
		guard: guard, database: watch, disk: disk,
		level:   level.NewWatch(db, store, projections.Filters(), cfg.Logger),
		queries: queries.New(db),
		served:  make(chan struct{}),
		clocks: clockcheck.New(
			cfg.Logger, time.Now, clockcheck.Clock{Name: "the event store", Now: store.Date},
			clockcheck.Clock{Name: "the database", Now: db.Time},
		),
		metrics: metrics, traces: traces,
	}
	if err := s.openKeys(ctx, key); err != nil {
		return nil, errors.Join(err, s.closeAll())
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
	destinations, err := destinationRules(cfg.Serving, s.logger)
	if err != nil {
		return err
	}
	written := streams.New(
		streams.Config{Store: s.Store, Keys: s.db.Keys, Seal: s.db.Keys.Master != nil},
	)
	s.Accounts = accounts.New(written, nil)
	known, err := s.people(ctx, written)
	if err != nil {
		return err
	}
	s.commands = commands.NewHandler(commands.Config{
		Quotas: s.quotas(), Streams: written, Logger: s.logger,
		Destinations: destinations,
	})
	if s.redirects, err = cache.NewRedirects(s.queries, cfg.CacheSize<<20); err != nil {
		return err
	}
	logins := cache.NewLogins(s.queries)
	s.Waiter.Caches = []progress.Cache{s.redirects, logins}
	s.keyUses = keyuse.New(s.db.Pool, s.logger)
	s.Waiter.OnUnowned = s.logUnowned
	if s.has(config.RoleRedirect) {
		if s.spool, err = openSpool(ctx, s.logger, cfg.Redirecting); err != nil {
			return err
		}
	}
	country, err := s.openVisitorFiles()
	if err != nil {
		return err
	}
	s.clicks = clicks.New(clicks.Config{
		Store: s.Store, Spool: s.spool, StoreTimeout: cfg.ClickPatience, Tracer: s.traces.Tracer(),
		Logger: s.logger,
	})
	if s.operators, err = s.operatorsConsole(visitorKey); err != nil {
		return err
	}
	s.calls = metering.New(metering.Config{Store: s.Store, Logger: s.logger})
	history := audit.New(written, s.Store, s.logger)
	prover, err := s.prover(history)
	if err != nil {
		return err
	}
	signIn, err := s.signIn(ctx)
	if err != nil {
		return err
	}
	s.handler, err = httpapi.New(httpapi.Config{
		Commands: s.commands, Audit: history, Prover: prover, Queries: s.queries,
		Lists: linklist.New(s.db), SessionLists: sessionlist.New(s.db),
		Accounts: s.Accounts, People: known, Logins: logins,
		Sessions: s.db.Keys, SignIn: signIn, RedirectCache: s.redirects,
		Answered: answered.New(written), Levels: s.levels(),
		ClickRecorder: s.clicks, UsageMeter: s.calls,
		Projections: s.projections(),
		WaitTimeout: cfg.WaitTimeout, Served: s.served,
		Plans: cfg.Plans.ByName, Origins: cfg.Origins.List(),
		ClickLimiter: clicklimit.New(s.Store, nil), TrustedProxies: cfg.TrustedProxies,
		Country: country, Agents: s.agents,
		OperatorsURL: s.operatorsURL(),
		BaseURL:      strings.TrimSuffix(cfg.BaseURL, "/"), VisitorKey: visitorKey,
		FormerVisitorKey: formerKey,
		Observe:          s.metrics.Request, LoginRefused: s.metrics.Login, KeyUsed: s.keyUses.Used,
		Logger: s.logger,
		Tracer: s.traces.Tracer(), LogRequests: httpapi.RequestLog(cfg.LogRequests),
		API: s.has(config.RoleAPI), Redirects: s.has(config.RoleRedirect),
	})
	return err
}

// quotas returns what keeps the links of accounts within their plans.
func (s *Service) quotas() *linkquota.Quotas {
	return linkquota.New(linkquota.Config{
		Store: s.Store,
		Existing: func(
			ctx context.Context, account string, now time.Time,
		) (linkquota.Existing, error) {
			existing, err := s.queries.LinkTotals(ctx, account, now)
			return linkquota.Existing(existing), err
		},
	})
}

// prover returns what proves events of the log, or nil if there is no key to sign with.
func (s *Service) prover(history *audit.Reader) (*proofs.Prover, error) {
	if s.cfg.SigningKey == "" {
		return nil, nil //nolint:nilnil // the API takes nil for none
	}
	prover, err := proofs.New(proofs.Config{
		Tree: logtree.New(s.db), Audit: history, Store: s.Store, Key: string(s.cfg.SigningKey),
	})
	if err != nil {
		return nil, usage.Errorf(
			"%w: give what linkledger audit key wrote to its file, with --signing-key (%s)", err,
			usage.Env("signing-key"),
		)
	}
	return prover, nil
}

// destinationRules returns the rules for the destinations of links.
func destinationRules(cfg config.Serving, logger *slog.Logger) (destination.Rules, error) {
	var rules destination.Rules
	if cfg.BaseURL != "" {
		short, err := destination.ShortHost(cfg.BaseURL)
		if err != nil {
			return rules, fmt.Errorf("base URL %q: %w", cfg.BaseURL, err)
		}
		rules.ShortHosts = append(rules.ShortHosts, short)
	}
	if cfg.BlockedHosts != "" {
		list, err := destination.ReadBlocklist(cfg.BlockedHosts, logger)
		if err != nil {
			return rules, usage.Errorf(
				"%w; name another file with --blocked-hosts (%s)", err, usage.Env("blocked-hosts"),
			)
		}
		rules.Blocked = list.Blocks
	}
	return rules, nil
}

// logUnowned logs that a projection has lost or regained its owner.
func (s *Service) logUnowned(projection string, unowned bool) {
	if unowned {
		s.logger.Warn("no process keeps the projection up to date: calls are answered without "+
			"what it lacks", slog.String("projection", projection))
		return
	}
	s.logger.Info("the projection is kept up to date again", slog.String("projection", projection))
}

// visitorKeys returns the key that hashes visitors, and the former one, which is nil if none is
// named.
func (s *Service) visitorKeys(
	ctx context.Context, cfg config.Redirecting,
) (current, former []byte, err error) {
	if cfg.FormerVisitorKey != "" {
		err = askDatabase(ctx, func(ctx context.Context) (err error) {
			former, err = s.db.Keys.StoredSecret(ctx, cfg.FormerVisitorKey, visitorKeySize)
			return err
		})
		if errors.Is(err, pgx.ErrNoRows) {
			return nil, nil, usage.Errorf("there is no key %q: name the former key with "+
				"--former-visitor-key (%s), or none",
				cfg.FormerVisitorKey, usage.Env("former-visitor-key"))
		}
		if err != nil {
			return nil, nil, err
		}
	}
	current, err = s.secret(ctx, cfg.VisitorKey, visitorKeySize)
	return current, former, err
}

// openSpool opens the spool of clicks. If it fails, the user has to change the configuration.
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

// Close closes the connections of a service. Run, if it was called, MUST have returned.
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
