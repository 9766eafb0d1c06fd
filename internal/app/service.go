package app

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"linkledger/commands/clicks/spool"
	"linkledger/commands/countries"
	"linkledger/events/eventstore"
	"linkledger/httpapi"
	"linkledger/httpapi/agent"
	"linkledger/internal/admin"
	"linkledger/internal/app/startup"
	"linkledger/internal/clockcheck"
	"linkledger/internal/config"
	"linkledger/internal/operators"
	"linkledger/internal/signinlink"
	"linkledger/internal/telemetry"
	"linkledger/internal/usage"
	"linkledger/internal/wiring"
	"linkledger/projections/adoption"
	"linkledger/projections/connection"
	"linkledger/projections/engine/status"
	"linkledger/projections/keystore"
	"linkledger/projections/keystore/keyuse"
	"linkledger/projections/readmodel"
)

const (
	// stopTimeout bounds how long the parts take to stop after the last request. After that it
	// bounds how long the connections take to close.
	stopTimeout    = 20 * time.Second
	visitorKeySize = 32 // bytes
)

// Service is a running service: API, redirects and projections over an event store and a database.
type Service struct {
	*wiring.Service

	Store *eventstore.Store

	cfg       Config
	logger    *slog.Logger
	db        *readmodel.DB
	stores    startup.Stores
	guard     *adoption.Guard
	database  *connection.Watch
	disk      *connection.Disk // of the database
	spool     *spool.Spool     // nil without the redirect role
	countries *countries.DB    // nil without --countries
	agents    *agent.List
	keyUses   *keyuse.Uses
	registry  status.Registry
	metrics   *telemetry.Metrics
	traces    telemetry.Traces
	handler   *httpapi.Server
	served    chan struct{} // closed once the read models have the tables of this version
	operators *operators.Handler
	clocks    *clockcheck.Checker
	held      func(context.Context) error // requests wait until it returns; nil: no wait
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
	// Run makes backups until ctx ends. keys are those of the database that the service uses.
	Run(ctx context.Context, keys *keystore.Keys) error
	// Age returns how old the newest backup is, if one is known.
	Age() (age time.Duration, known bool)
	// State returns a line for a probe.
	State() string
}

// SignInLink makes a one-time link that signs a browser in.
func (s *Service) SignInLink(
	ctx context.Context, wanted signinlink.Wanted,
) (signinlink.Link, error) {
	return signinlink.Make(ctx, s.Reads.Queries, s.db.Keys, wanted)
}

// Open connects to the backends and migrates the schema of the database. While it waits for a
// backend, the internal address reports which one.
func Open(ctx context.Context, cfg Config, internal *admin.Server) (*Service, error) {
	ctx = startup.Reporting(ctx, internal, cfg.Logger)
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
	db, err := startup.OpenDatabase(
		ctx, string(cfg.Database), cfg.Version, watch.Guard, disk.Guard, guard.Watch,
	)
	if err != nil {
		store.Close()
		traces.Close()
		return nil, err
	}
	s := &Service{
		Store: store, cfg: cfg, logger: cfg.Logger, db: db,
		guard: guard, database: watch, disk: disk,
		served: make(chan struct{}),
		clocks: clockcheck.New(
			cfg.Logger, time.Now, clockcheck.Clock{Name: "the event store", Now: store.Date},
			clockcheck.Clock{Name: "the database", Now: db.Time},
		),
		metrics: metrics, traces: traces,
	}
	s.stores = startup.Stores{Store: store, DB: db, Guard: guard, Logger: cfg.Logger}
	if err := s.stores.OpenKeys(ctx, key, cfg.NewKeys); err != nil {
		return nil, errors.Join(err, s.closeAll())
	}
	if err := s.wire(ctx); err != nil {
		return nil, errors.Join(err, s.closeAll())
	}
	return s, nil
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
