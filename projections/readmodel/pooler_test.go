package readmodel_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"linkledger/internal/pgserver/bouncertest"
	"linkledger/internal/pgserver/postgrestest"
	"linkledger/projections/connection"
	"linkledger/projections/readmodel"
	"linkledger/waiting"
)

// busy lets other clients of a pooler run short transactions until the test ends.
func busy(t *testing.T, dsn string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	t.Cleanup(func() { stop(); clients.Wait() })
	for range 8 {
		conn, err := pgconn.Connect(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		clients.Go(func() {
			defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
			for ctx.Err() == nil {
				_, _ = conn.Exec(ctx, "SELECT pg_sleep(0.001)").ReadAll() // it may be interrupted
			}
		})
	}
}

// TestSharedConnectionsAreRefused opens a database through PgBouncer with its defaults in the modes
// that share connections: with an idle pool, with one that others use, with one that takes turns,
// and with one of a single connection.
func TestSharedConnectionsAreRefused(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string][]string{
		"transaction": {"pool_mode = transaction"}, "statement": {"pool_mode = statement"},
		"turns":  {"pool_mode = transaction", "server_round_robin = 1", "min_pool_size = 5"},
		"single": {"pool_mode = transaction", "default_pool_size = 1"},
		"busy":   {"pool_mode = transaction"}, "busy turns": {"pool_mode = transaction", "server_round_robin = 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pooled := bouncertest.Start(t, postgrestest.NewDatabase(t), settings...)
			if strings.HasPrefix(name, "busy") {
				busy(t, pooled)
			}
			for range 5 {
				db, err := readmodel.Open(withTimeout(t), pooled, 4)
				if err == nil {
					_ = db.Close()
				}
				if !errors.Is(err, connection.ErrShared) || connection.Unavailable(err) ||
					!strings.Contains(err.Error(), "pool_mode = session") {
					t.Fatalf("opened with %v", err)
				}
			}
		})
	}
}

// TestSessionsThroughPooler opens a database through PgBouncer with its defaults, while others use
// the pool, and checks that settings, notifications and the lock of the schemas work.
func TestSessionsThroughPooler(t *testing.T) {
	t.Parallel()
	direct := postgrestest.NewDatabase(t)
	pooled := bouncertest.Start(t, direct)
	busy(t, pooled)
	db := open(t, pooled+"&search_path=public,pg_temp&statement_timeout=7s", 1)
	for setting, want := range map[string]string{
		"statement_timeout": "7s", "lock_timeout": "8s", "TimeZone": "UTC", "application_name": "linkledger",
		"search_path": "public,pg_temp",
	} {
		if got := scan[string](t, db, "SELECT current_setting(?)", setting); got != want {
			t.Errorf("%s is %s, want %s", setting, got, want)
		}
	}
	listening, err := db.Listen(withTimeout(t), readmodel.Channel)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listening.Close(t.Context()) }()
	if err := db.Locked(withTimeout(t), func(ctx context.Context) error {
		_, err := db.NewRaw("SELECT pg_notify(?, 'links 7')", readmodel.Channel).Exec(ctx)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if got, err := readmodel.NextNotification(withTimeout(t), listening); err != nil || got != "links 7" {
		t.Errorf("notified of %q, %v", got, err)
	}
}

// TestRefusalsOfPooler checks that what a pooler will refuse again is no outage, and that a server
// that it cannot reach is one.
func TestRefusalsOfPooler(t *testing.T) {
	t.Parallel()
	direct := postgrestest.NewDatabase(t)
	pooled := bouncertest.Start(t, direct)
	refuse := bouncertest.Start(t, direct, "disable_pqexec = 0", "query_wait_timeout = 1", "server_login_retry = 1",
		"[databases]", "gone = host=/nonexistent", "nothing = dbname=nothing_here")
	path := func(dsn, name string) string {
		before, after, _ := strings.Cut(dsn, "?")
		return before[:strings.LastIndex(before, "/")+1] + name + "?" + after
	}
	for name, tc := range map[string]struct {
		dsn    string
		outage bool
		want   string
	}{
		"startup parameter": {pooled + "&options=-cwork_mem%3D1MB", false, "unsupported startup parameter"},
		"user":              {strings.Replace(pooled, "linkledger@", "stranger@", 1), false, "authentication failed"},
		"database":          {path(pooled, "nothing_here"), false, "does not exist"},
		"gone":              {path(refuse, "gone"), true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(withTimeout(t), 5*time.Second)
			defer cancel()
			_, err := readmodel.Open(ctx, tc.dsn, 1)
			if err == nil || connection.Unavailable(err) != tc.outage || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("opened with %v, an outage: %v", err, connection.Unavailable(err))
			}
		})
	}
}

// TestWaitForLockNamesHolder checks that a wait for the lock of the schemas is reported with its
// holder, also through a pooler, and that the lock is free when the connection of the holder is cut.
func TestWaitForLockNamesHolder(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string][]string{"direct": nil, "session": {"pool_mode = session", "server_reset_query="}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := postgrestest.NewDatabase(t)
			if settings != nil {
				dsn = bouncertest.Start(t, dsn, settings...)
			}
			db := open(t, dsn+"&application_name=waiter", 4)
			holder := open(t, dsn+"&application_name=holder", 4)
			reports := make(chan error, 10)
			ctx := waiting.WithReport(withTimeout(t), func(_ context.Context, _ string, why error) { reports <- why })
			held, release := make(chan struct{}), make(chan struct{})
			var holding sync.WaitGroup
			holding.Go(func() {
				_ = holder.Locked(withTimeout(t), func(context.Context) error { close(held); <-release; return nil })
			})
			<-held
			entered := make(chan error, 1)
			go func() { entered <- db.Locked(ctx, func(context.Context) error { return nil }) }()
			why := <-reports
			if why == nil || !strings.Contains(why.Error(), `application "holder"`) ||
				!strings.Contains(why.Error(), "since 20") || !strings.Contains(why.Error(), "pg_terminate_backend(") {
				t.Errorf("the wait is reported as %v", why)
			}
			close(release)
			if err := <-entered; err != nil {
				t.Error(err)
			}
			if why := <-reports; why != nil {
				t.Errorf("after the wait: %v", why)
			}
			holding.Wait()
		})
	}
}
