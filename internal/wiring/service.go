package wiring

import (
	"context"
	"log/slog"
	"net/netip"
	"time"

	"linkledger/commands/answered"
	"linkledger/commands/clicklimit"
	"linkledger/commands/clicks"
	"linkledger/commands/destination"
	"linkledger/commands/metering"
	"linkledger/commands/proofs"
	"linkledger/commands/webhooks"
	"linkledger/effects"
	"linkledger/effects/outbound"
	"linkledger/effects/outbox"
	delivery "linkledger/effects/webhooks"
	"linkledger/events/eventstore"
	"linkledger/httpapi/redirect"
	v3 "linkledger/httpapi/v3"
	"linkledger/httpapi/v3/catchup"
	"linkledger/internal/usage"
	"linkledger/projections"
	"linkledger/projections/level"
	"linkledger/projections/readmodel"
	"linkledger/queries"
	"linkledger/queries/cache"
	"linkledger/queries/linklist"
	"linkledger/queries/logtree"
	"linkledger/queries/progress"
	"linkledger/queries/sessionlist"
)

// Config is the configuration of a Service.
type Config struct {
	Store *eventstore.Store
	// DB.Keys has the master key, if there is one.
	DB           *readmodel.DB
	Destinations destination.Rules
	Identities   []byte        // key of the hashes of identities
	SigningKey   string        // signs heads of the log; empty: the service proves nothing
	CacheSize    uint64        // of redirects, in bytes
	Clicks       clicks.Config // without its store, clock and logger
	// WebhookAllow are networks to which webhooks may lead although they are not public.
	WebhookAllow []netip.Prefix
	Now          func() time.Time
	Logger       *slog.Logger
}

// Service has the parts of a service, in the groups that the public listener takes. The caller MUST
// run Waiter and Level, and Visits.Clicks and UsageMeter if they are used.
type Service struct {
	*Log

	Writes      v3.Writes
	Reads       v3.Reads
	Webhooks    v3.Webhooks
	Deliveries  effects.Effect // of webhooks; a process with the role projector runs it
	Visits      redirect.Parts
	Projections catchup.Projections
	UsageMeter  *metering.Meter
	Waiter      *progress.Waiter
	Level       *level.Watch
}

// New returns the parts of a service.
func New(cfg Config) (*Service, error) {
	q := queries.New(cfg.DB)
	log := NewLog(LogConfig{
		Store: cfg.Store, Keys: cfg.DB.Keys, Seal: cfg.DB.Keys.Master != nil,
		Identities: cfg.Identities, Existing: Existing(q), Destinations: cfg.Destinations,
		Now: cfg.Now, Logger: cfg.Logger,
	})
	prover, err := newProver(cfg, log)
	if err != nil {
		return nil, err
	}
	redirects, err := cache.NewRedirects(q, cfg.CacheSize)
	if err != nil {
		return nil, err
	}
	cfg.Clicks.Store, cfg.Clicks.Now, cfg.Clicks.Logger = cfg.Store, cfg.Now, cfg.Logger
	s := &Service{
		Log:    log,
		Writes: v3.Writes{Commands: log.Commands, Accounts: log.Accounts, People: log.People},
		Reads: v3.Reads{
			Queries: q, Lists: linklist.New(cfg.DB), SessionLists: sessionlist.New(cfg.DB),
			Logins: cache.NewLogins(q), Audit: log.Audit, Prover: prover,
		},
		UsageMeter: metering.New(metering.Config{
			Store: cfg.Store, Logger: cfg.Logger, Now: cfg.Now,
		}),
		Waiter: progress.NewWaiter(cfg.DB),
		Level:  level.NewWatch(cfg.DB, cfg.Store, projections.Filters(), cfg.Logger),
	}
	s.webhooks(cfg)
	s.Waiter.Caches = []progress.Cache{redirects, s.Reads.Logins}
	s.Projections = s.projections()
	s.Visits = redirect.Parts{
		Cache: redirects, Answered: answered.New(log.Streams), Levels: s.levels(cfg.Store),
		ClickLimiter: clicklimit.New(cfg.Store, cfg.Now), Clicks: clicks.New(cfg.Clicks),
	}
	return s, nil
}

// webhooks makes the parts of webhooks.
func (s *Service) webhooks(cfg Config) {
	delivering := delivery.Config{
		Streams: s.Streams, Commands: webhooks.New(s.Streams), Logger: cfg.Logger,
		Client: outbound.New(outbound.Config{
			Allow: cfg.WebhookAllow, Agent: "Linkledger-Webhooks/1",
		}),
	}
	s.Deliveries = delivery.New(delivering)
	s.Webhooks = v3.Webhooks{
		Webhooks:   delivering.Commands,
		Deliveries: outbox.New(delivery.Name, cfg.DB.Writers), Try: delivery.Try(delivering),
	}
}

// newProver returns the prover of events of the log, or nil if there is no key to sign with.
func newProver(cfg Config, log *Log) (*proofs.Prover, error) {
	if cfg.SigningKey == "" {
		return nil, nil //nolint:nilnil // the API takes nil for none
	}
	prover, err := proofs.New(proofs.Config{
		Tree: logtree.New(cfg.DB), Audit: log.Audit, Store: cfg.Store, Key: cfg.SigningKey,
	})
	if err != nil {
		return nil, usage.Errorf(
			"%w: give what linkledger audit key wrote to its file, with --signing-key (%s)", err,
			usage.Env("signing-key"),
		)
	}
	return prover, nil
}

// projections returns the functions that wait for the read models and compare them with the log.
func (s *Service) projections() catchup.Projections {
	return catchup.Projections{
		Wait: s.Waiter.WaitOwned, WaitUndelayed: s.Waiter.WaitUndelayed,
		WaitForOthers: s.Waiter.WaitForOthers,
		LacksEffect:   s.Waiter.LacksEffect, LastChange: s.Waiter.LastChange,
		SetAside: s.Waiter.SetAside, Misplaced: s.Level.Misplaced, Behind: s.Level.Behind,
	}
}

// levels returns the functions with which the redirects compare the read models with the log before
// they deny a visitor a link.
func (s *Service) levels(store *eventstore.Store) redirect.Levels {
	return redirect.Levels{
		Links:    latest(level.OfLinks(store)),
		Accounts: latest(level.OfAccounts(store)),
		Misplaced: func() bool {
			return s.Level.Misplaced(projections.Links, projections.Accounts)
		},
	}
}

func latest(
	log *level.Log,
) func(context.Context, queries.Checkpoint) (queries.Checkpoint, error) {
	return func(ctx context.Context, at queries.Checkpoint) (queries.Checkpoint, error) {
		latest, err := log.Latest(ctx, eventstore.Position(at))
		return queries.Checkpoint(latest), err
	}
}
