package startup_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/uuid"

	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/internal/app/startup"
	"linkledger/internal/pgserver/postgrestest"
	"linkledger/internal/usage"
	"linkledger/projections/adoption"
	"linkledger/projections/keystore/keyfile"
	"linkledger/projections/projectionstest"
	"linkledger/projections/readmodel/controlschema"
	"linkledger/waiting"
)

func TestMain(m *testing.M) { projectionstest.Main(m) }

// connect returns the event store at a connection string and the database of a URL, which it prepares.
func connect(t *testing.T, events, database string) startup.Stores {
	t.Helper()
	store, err := eventstore.Open(eventstore.Config{URL: events})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	logger := slog.New(slog.DiscardHandler)
	guard := adoption.New(adoption.Config{Store: store, Logger: logger})
	db, err := startup.OpenDatabase(projectionstest.Context(t), database, "test", guard.Watch)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return startup.Stores{Store: store, DB: db, Guard: guard, Logger: logger}
}

func masterKey(t *testing.T, filler byte) *keyfile.MasterKey {
	t.Helper()
	key, err := keyfile.NewMasterKey(bytes.Repeat([]byte{filler}, 32), nil)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// wantUsage checks that an error is one of usage, and names a flag.
func wantUsage(t *testing.T, err error, flag string) {
	t.Helper()
	if !usage.Is(err) || !strings.Contains(err.Error(), flag) {
		t.Errorf("got %v, want an error of usage that names %s", err, flag)
	}
}

// TestKeys checks that the first start makes the keys, and that a later one demands the same master key.
func TestKeys(t *testing.T) {
	t.Parallel()
	events, database := eventstoretest.Serve(t).URL(), postgrestest.NewDatabase(t)
	ctx := projectionstest.Context(t)
	first := connect(t, events, database)
	if err := first.OpenKeys(ctx, masterKey(t, 1), false); err != nil {
		t.Fatal(err)
	}
	secret, err := first.Secret(ctx, "shared", 32)
	if err != nil || len(secret) != 32 {
		t.Fatalf("a secret of %d bytes, %v", len(secret), err)
	}
	if _, err := first.DB.Keys.MakeAccountKey(ctx, uuid.NewString()); err != nil {
		t.Fatal(err)
	}
	again := connect(t, events, database)
	if err := again.OpenKeys(ctx, masterKey(t, 1), false); err != nil {
		t.Fatal(err)
	}
	if same, err := again.Secret(ctx, "shared", 32); err != nil || !bytes.Equal(same, secret) {
		t.Errorf("another node has the secret %x, want %x (%v)", same, secret, err)
	}
	wantUsage(t, connect(t, events, database).OpenKeys(ctx, masterKey(t, 2), false), "--master-key")
}

// TestLostKeys checks that a log with links gets new keys only if the operator accepts that.
func TestLostKeys(t *testing.T) {
	t.Parallel()
	s := connect(t, eventstoretest.Serve(t).URL(), postgrestest.NewDatabase(t))
	log := projectionstest.NewWriter(t, s.Store)
	log.Link(log.Account(), "one")
	ctx := projectionstest.Context(t)
	wantUsage(t, s.OpenKeys(ctx, masterKey(t, 1), false), "--new-keys")
	if err := s.OpenKeys(ctx, masterKey(t, 1), true); err != nil {
		t.Error(err)
	}
}

// TestDatabaseThatDoesNotAnswer checks that a start waits for the database, and says so until it is stopped.
func TestDatabaseThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancelCause(projectionstest.Context(t))
	stopped := errors.New("a signal")
	reports := 0
	ctx = waiting.WithReport(ctx, func(_ context.Context, what string, why error) {
		if what != "database" || why == nil {
			t.Errorf("it waits for %s: %v", what, why)
		}
		if reports++; reports == 2 {
			stop(stopped)
		}
	})
	_, err := startup.OpenDatabase(ctx, "postgres://127.0.0.1:1/links?sslmode=disable", "test")
	if !errors.Is(err, stopped) || usage.Is(err) {
		t.Errorf("got %v, want the cause of the stop", err)
	}
}

// TestDatabaseThatCannotServe checks that a start does not wait for what an operator has to change.
func TestDatabaseThatCannotServe(t *testing.T) {
	t.Parallel()
	ctx := projectionstest.Context(t)
	_, err := startup.OpenDatabase(ctx, "postgres://%", "test")
	wantUsage(t, err, "--database")

	dsn := projectionstest.NewDatabase(t)
	projectionstest.Exec(t, projectionstest.OpenAt(t, dsn), `INSERT INTO linkledger.applied_migrations
		(name, program) VALUES ('29990101000000', 'v999')`)
	if _, err := startup.OpenDatabase(ctx, dsn, "test"); !usage.Is(err) || !errors.Is(err, controlschema.ErrNewer) {
		t.Errorf("a newer database: %v", err)
	}
}

// TestWatchLog checks that a database serves the log that it is made of, and no other one.
func TestWatchLog(t *testing.T) {
	t.Parallel()
	ctx := projectionstest.Context(t)
	s := connect(t, eventstoretest.Serve(t).URL(), postgrestest.NewDatabase(t))
	if err := s.OpenKeys(ctx, nil, false); err != nil {
		t.Fatal(err)
	}
	empty, leave := context.WithCancel(ctx)
	if err := s.WatchLog(empty, leave); err != nil { // an empty log leaves it open
		t.Errorf("an empty log: %v", err)
	}
	projectionstest.NewWriter(t, s.Store).Account()
	answered := false
	if err := s.WatchLog(ctx, func() { answered = true }); err != nil || !answered {
		t.Errorf("answered %t, %v", answered, err)
	}

	other, err := eventstore.Open(eventstore.Config{URL: eventstoretest.Serve(t).URL()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(other.Close)
	projectionstest.NewWriter(t, other).Account()
	s.Store = other
	wantUsage(t, s.WatchLog(ctx, func() { t.Error("another log is accepted") }), "--eventstore")
}
