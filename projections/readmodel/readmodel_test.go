package readmodel_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uptrace/bun"
	"go.uber.org/goleak"

	"linkledger/internal/pgserver/postgrestest"
	"linkledger/projections/readmodel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.Main{M: m}) }

func withTimeout(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func open(t *testing.T, dsn string, maxConns int) *readmodel.DB {
	t.Helper()
	db, err := readmodel.Open(withTimeout(t), dsn, maxConns)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return db
}

// migrated returns a database with the control schema.
func migrated(t *testing.T) *readmodel.DB {
	t.Helper()
	db := open(t, postgrestest.NewDatabase(t), 4)
	if err := db.Locked(withTimeout(t), db.Migrate); err != nil {
		t.Fatal(err)
	}
	return db
}

func scan[T any](t *testing.T, db bun.IDB, query string, args ...any) T {
	t.Helper()
	var value T
	if err := db.NewRaw(query, args...).Scan(withTimeout(t), &value); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.NewDatabase(t)
	for name, tc := range map[string]struct {
		dsn   string
		conns int
		want  string
	}{
		"no connection string": {"postgres://:::", 4, "connection string"},
		"no connections":       {dsn, 0, "0 connections"},
		"too many":             {dsn, 1 << 20, "1048576 connections"},
		"nobody there":         {"postgres:///x?host=/nonexistent", 4, "open the database"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := readmodel.Open(withTimeout(t), tc.dsn, tc.conns)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one about %q", err, tc.want)
			}
		})
	}
}

// TestOpenQuotesNoPassword checks that errors of a connection string quote at most the name of a
// file.
func TestOpenQuotesNoPassword(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{
		"postgres://ada:hunter2": "%XX", "postgres://ada:hunter2@db:port/links": "%XX",
		"postgres://ada:hunter2%zz@db/links":                                        "%XX",
		"postgres://db/links?pass%77ord=hunter2&sslmode=maybe":                      "%XX",
		"postgres://ada:hun/hunter2@db/links?sslmode=hunter2":                       "%XX",
		"host=db password='hunter2":                                                 "%XX",
		"postgres://ada:hunter2@db?sslmode=verify-full&sslrootcert=/nowhere/ca.crt": "/nowhere/ca.crt",
	} {
		_, err := readmodel.Open(t.Context(), dsn, 1)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %s", dsn, err, want)
		}
	}
}

// TestSessionSettings checks that settings of the connection string have precedence.
func TestSessionSettings(t *testing.T) {
	t.Parallel()
	db := open(t, postgrestest.NewDatabase(t)+"&statement_timeout=7s", 1)
	for setting, want := range map[string]string{
		"statement_timeout": "7s", "lock_timeout": "8s", "TimeZone": "UTC", "application_name": "linkledger",
	} {
		if got := scan[string](t, db, "SELECT current_setting(?)", setting); got != want {
			t.Errorf("%s is %s, want %s", setting, got, want)
		}
	}
}

// TestHostileText sends texts that have a meaning in SQL, in array literals or in bun.
func TestHostileText(t *testing.T) {
	t.Parallel()
	db := open(t, postgrestest.NewDatabase(t), 1)
	for _, text := range []string{
		`'; DROP SCHEMA linkledger; --`, `back\slash'`, `"quoted" {braces}, NULL`, "?0 ?schema ? $1", "E'\\x41'",
		"🎉\u2028",
	} {
		if got := scan[string](t, db, "SELECT ?::text", text); got != text {
			t.Errorf("%q was returned as %q", text, got)
		}
	}
}

// TestLockedExcludes lets many processes change schemas concurrently, and checks that only one at a
// time holds the lock.
func TestLockedExcludes(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.NewDatabase(t)
	db, ctx := open(t, dsn, 2), withTimeout(t)
	var inside, entered atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			err := db.Locked(ctx, func(ctx context.Context) error {
				if inside.Add(1) != 1 {
					t.Error("two callers hold the lock")
				}
				defer inside.Add(-1)
				entered.Add(1)
				_, err := db.ExecContext(ctx, "SELECT 1")
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if entered.Load() != 8 {
		t.Errorf("%d callers had the lock, want 8", entered.Load())
	}
}

func TestLockedEndsWithItsContext(t *testing.T) {
	t.Parallel()
	db := open(t, postgrestest.NewDatabase(t), 2)
	failure := errors.New("failure")
	err := db.Locked(withTimeout(t), func(context.Context) error {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		err := db.Locked(ctx, func(context.Context) error {
			t.Error("two callers hold the lock")
			return nil
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("waiting for the lock ended with %v", err)
		}
		return failure
	})
	if !errors.Is(err, failure) {
		t.Errorf("Locked returned %v", err)
	}
	if err := db.Locked(withTimeout(t), func(context.Context) error { return nil }); err != nil {
		t.Errorf("after a failure the lock is not free: %v", err)
	}
}

// TestServeSwapsGenerations makes the views show a next generation whose columns have other types.
func TestServeSwapsGenerations(t *testing.T) {
	t.Parallel()
	db, ctx := migrated(t), withTimeout(t)
	serve := func(generation int, change string) {
		t.Helper()
		err := db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
			if err := readmodel.CreateTables(ctx, tx, "tags", generation); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, change); err != nil {
				return err
			}
			return readmodel.Serve(ctx, tx, "tags", generation-1, generation)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	serve(1, `INSERT INTO tags_g1.tags VALUES (gen_random_uuid(), gen_random_uuid(), 'one', now(), 1)`)
	if label := scan[string](t, db, "SELECT label FROM linkledger.tags"); label != "one" {
		t.Errorf("label %s", label)
	}
	serve(2, `ALTER TABLE tags_g2.tags ALTER label TYPE integer USING 0;
		INSERT INTO tags_g2.tags VALUES (gen_random_uuid(), gen_random_uuid(), 2, now(), 1)`)
	if label := scan[int](t, db, "SELECT label FROM linkledger.tags"); label != 2 {
		t.Errorf("label %d", label)
	}
}

func TestUnknownProjectionHasNoTables(t *testing.T) {
	t.Parallel()
	db, ctx := migrated(t), withTimeout(t)
	err := db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		return readmodel.CreateTables(ctx, tx, "unknown", 1)
	})
	if err == nil {
		t.Error("tables of an unknown projection were created")
	}
}

func TestListenReceivesNotifications(t *testing.T) {
	t.Parallel()
	db, ctx := open(t, postgrestest.NewDatabase(t), 1), withTimeout(t)
	conn, err := db.Listen(ctx, readmodel.Channel)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := db.NewRaw("SELECT pg_notify(?, ?)", readmodel.Channel, "links 7").Exec(ctx); err != nil {
		t.Fatal(err)
	}
	notification, err := conn.WaitForNotification(ctx)
	if err != nil || notification.Payload != "links 7" {
		t.Errorf("received %+v, %v", notification, err)
	}
}
