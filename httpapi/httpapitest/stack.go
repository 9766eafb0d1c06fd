// Package httpapitest runs the public listener with its own event store, database and projections,
// and calls it as clients, visitors and browsers do. It is for tests only, and checks what every
// answer must fulfill.
package httpapitest

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"linkledger/internal/soak"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"linkledger/commands"
	"linkledger/commands/accounts"
	"linkledger/commands/destination"
	"linkledger/commands/metering"
	"linkledger/effects"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/events/proof"
	"linkledger/httpapi"
	"linkledger/httpapi/branchtest"
	v3 "linkledger/httpapi/v3"
	"linkledger/internal/pgserver/postgrestest"
	"linkledger/internal/wiring"
	"linkledger/projections"
	"linkledger/projections/connection"
	"linkledger/projections/engine"
	"linkledger/projections/keystore"
	"linkledger/projections/keystore/keyfile"
	"linkledger/projections/level"
	"linkledger/projections/readmodel"
	"linkledger/queries/cache"
	"linkledger/queries/progress"
)

// Main runs the tests of a package that uses stacks. It records which branches of templates they take.
func Main(m *testing.M) {
	soak.Checks(10, 100)
	goleak.VerifyTestMain(branchtest.Main{Main: postgrestest.Main{M: m}})
}

// Impatient makes calls wait at most 20 ms for the read models, so a write is answered soon even if
// they do not show it.
func Impatient(cfg *httpapi.Config) { cfg.WaitTimeout = 20 * time.Millisecond }

// SyncClock sets the service's clock to the present, and returns this time. Every write that was
// confirmed before the call is recorded with this time or an earlier one.
func (s *Stack) SyncClock() string {
	now := time.Now()
	s.now.Store(&now)
	return now.Format(time.RFC3339Nano)
}

// Timeout bounds every wait of a test.
const Timeout = time.Minute

// The host of the short links, and the time at which a stack begins.
const (
	ShortHost = "sho.rt"
	Noon      = "2026-05-14T12:00:00Z"
)

// These are the limits that the service documents.
const (
	LoginsWithReason  = 20   // consecutive failed logins whose response contains the reason
	TagsOfOneCall     = 1000 // different tags
	DetailsLength     = 300  // code points
	OperationsWaiting = 16   // per account
	OperationPortion  = 25   // URLs that an operation changes at once
)

// WithTimeout returns a context that ends with the test, or after Timeout.
func WithTimeout(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Timeout)
	t.Cleanup(cancel)
	return ctx
}

// Stack is the handler with its own event store, database and running projections.
type Stack struct {
	Server   *httpapi.Server
	Events   *eventstoretest.Server
	Store    *eventstore.Store
	DB       *readmodel.DB
	Commands *commands.Handler
	Accounts *accounts.Accounts
	Calls    *metering.Meter
	Waiter   *progress.Waiter
	Targets  *cache.Redirects
	Level    *level.Watch
	Logins   *cache.Logins
	Log      *Lines
	Queries  *QueryLog
	Effect   effects.Effect // deliveries to webhooks, which may lead to 127.0.0.0/8
	Owner    string         // of the projections
	now      atomic.Pointer[time.Time]
}

// New builds a stack. The short links are under http://sho.rt, and the time is noon.
func New(t testing.TB, adjust ...func(*httpapi.Config)) *Stack {
	t.Helper()
	return NewOn(t, eventstoretest.Serve(t), adjust...)
}

// NewOn builds a stack on a given event store.
func NewOn(t testing.TB, server *eventstoretest.Server, adjust ...func(*httpapi.Config)) *Stack {
	t.Helper()
	return NewProjecting(t, engine.Config{}, server, adjust...)
}

// NewProjecting builds a stack on a given event store. projecting says what its projections do with
// events that they cannot apply.
func NewProjecting(
	t testing.TB, projecting engine.Config, server *eventstoretest.Server, adjust ...func(*httpapi.Config),
) *Stack {
	t.Helper()
	s := &Stack{Log: &Lines{}, Queries: &QueryLog{}, Events: server}
	s.SetTime(t, Noon)
	s.openDatabase(t)
	s.Store = eventstoretest.Open(t, s.Events.URL())
	logger := slog.New(slog.NewTextHandler(s.Log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	parts, err := wiring.New(wiring.Config{
		Store: s.Store, DB: s.DB, Destinations: destination.Rules{ShortHosts: []string{ShortHost}},
		Identities: []byte("identities"), SigningKey: signingKey(), CacheSize: 16 << 20, Now: s.Now,
		WebhookAllow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Accounts, s.Commands, s.Calls = parts.Accounts, parts.Commands, parts.UsageMeter
	s.Waiter, s.Level, s.Targets, s.Logins = parts.Waiter, parts.Level, parts.Visits.Cache, parts.Reads.Logins
	parts.Projections.Wait = s.Waiter.Wait // a test may run no projection
	s.Effect, s.Owner = parts.Deliveries, engine.ProcessName()
	s.Start(t, func(ctx context.Context) error { s.Waiter.Run(ctx); return nil })
	s.Start(t, parts.Visits.Clicks.Run)
	s.Start(t, s.Calls.Run)
	s.Start(t, func(ctx context.Context) error {
		projecting.DB, projecting.Store, projecting.OnCommit = s.DB, s.Store, s.Waiter.Committed
		projecting.Owner = s.Owner
		return engine.Run(ctx, projections.All(), projecting)
	})
	cfg := httpapi.Config{
		API: true, Redirects: true, Writes: parts.Writes, Reads: parts.Reads, Webhooks: parts.Webhooks, Visits: parts.Visits,
		Projections: parts.Projections, Usage: v3.Usage{UsageMeter: s.Calls}, Sessions: s.DB.Keys,
		BaseURL: "http://" + ShortHost, VisitorKey: bytes.Repeat([]byte("k"), 32),
		Limits: v3.Limits{WaitTimeout: Timeout}, RequestTimeout: Timeout, Now: s.Now, Logger: logger,
	}
	for _, change := range adjust {
		change(&cfg)
	}
	if s.Server, err = httpapi.New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("failed requests: %s", s.Log.Matching("request failed"))
		}
	})
	return s
}

// openDatabase opens a database. The queries of its readers are recorded in s.Queries, but not
// those of its writers.
func (s *Stack) openDatabase(t testing.TB) {
	t.Helper()
	dsn := Prepared.NewDatabase(t)
	open := func(guards ...connection.Guard) *readmodel.DB {
		db, err := readmodel.Open(WithTimeout(t), dsn, 8, guards...)
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	s.DB = open(func(cfg *pgx.ConnConfig) { cfg.Tracer = s.Queries })
	plain := open()
	s.DB.Writers, plain.Writers = plain.Writers, s.DB.Writers
	if err := plain.Close(); err != nil {
		t.Fatal(err)
	}
	var err error
	if s.DB.Keys.Master, err = keyfile.NewMasterKey(bytes.Repeat([]byte("m"), keyfile.MasterKeySize), nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.DB.Close() }) // a test may have closed it
}

// signingKey returns the key with which all stacks sign the heads of their logs.
var signingKey = sync.OnceValue(func() string {
	private, _, err := proof.NewKey(ShortHost)
	if err != nil {
		panic(err)
	}
	return private
})

// Prepared makes databases that have the tables of all projections.
var Prepared = postgrestest.NewTemplate(func(ctx context.Context, dsn string) error {
	db, err := readmodel.Open(ctx, dsn, 1)
	if err != nil {
		return err
	}
	return errors.Join(projections.Prepare(ctx, db), db.Keys.Create(ctx), db.Close())
})

// Start runs a part until the test ends.
func (s *Stack) Start(t testing.TB, run func(context.Context) error) {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("a part of the stack: %v", err)
		}
	})
}

// SetTime sets the clock.
func (s *Stack) SetTime(t testing.TB, now string) {
	t.Helper()
	parsed, err := time.Parse(time.RFC3339, now)
	if err != nil {
		t.Fatal(err)
	}
	s.now.Store(&parsed)
}

// Now returns the time of the stack.
func (s *Stack) Now() time.Time { return *s.now.Load() }

// CatchUp waits until the read models show everything that was recorded so far. It makes a write,
// which waits for its own events.
func (s *Stack) CatchUp(t testing.TB) {
	t.Helper()
	s.Client(t, "marker-"+uuid.NewString()).Create(`"long_url":"https://example.com/"`)
}

// Bare returns a configuration without an event store and a database.
func Bare() httpapi.Config {
	parts, err := wiring.New(wiring.Config{
		DB: &readmodel.DB{Keys: keystore.New(nil)}, CacheSize: 1 << 20, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		panic(err)
	}
	return httpapi.Config{
		API: true, Redirects: true, Writes: parts.Writes, Reads: parts.Reads, Webhooks: parts.Webhooks, Visits: parts.Visits,
		Projections: parts.Projections, Usage: v3.Usage{UsageMeter: parts.UsageMeter}, Sessions: keystore.New(nil),
		VisitorKey: make([]byte, 16),
	}
}
