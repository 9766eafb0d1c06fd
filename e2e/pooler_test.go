package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"linkledger/internal/pgserver/bouncertest"
	"linkledger/projections"
	"linkledger/projections/readmodel"
)

// behindPooler is an installation whose services will reach the database through PgBouncer.
func behindPooler(t *testing.T, settings ...string) *installation {
	t.Helper()
	i := notStarted(t)
	t.Cleanup(i.stopDatabase)
	i.startStore()
	// PgBouncer runs as PostgreSQL does, whose user must be able to enter the folder.
	if err := os.Chmod(filepath.Dir(i.folder), 0o711); err != nil {
		t.Fatal(err)
	}
	i.dsn = bouncertest.Start(t, i.database.DSN(), settings...)
	return i
}

// TestSharingPooler starts the service, and an operator command, behind PgBouncer in the modes that
// share connections between transactions. They must end with what to change.
func TestSharingPooler(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"transaction", "statement"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			i := behindPooler(t, "pool_mode = "+mode)
			serve := []string{"serve", "--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0", "--log-level=error", "--spool"}
			for _, args := range [][]string{append(serve, t.TempDir()), {"projections", "rebuild", "--all"}} {
				out, log, code := command(t, append(args, i.backends()...)...)
				if code != exitUsage || !strings.Contains(log, "pool_mode = session") {
					t.Errorf("%s ended with %d:\n%s%s", args[0], code, out, log)
				}
			}
		})
	}
}

// TestPooler runs the service behind PgBouncer with its defaults, but for the size of its pool, which
// has to hold the connections of a service and of a command. The load is creates, edits, reads, lists and
// redirects while all projections are rebuilt, then a kill and a restart under load, while a
// rebuild is killed too. Nothing may be refused while the service runs, and nothing be lost.
func TestPooler(t *testing.T) {
	t.Parallel()
	i := behindPooler(t, "default_pool_size = 60")
	i.startService()
	i.openAccount()
	awaitReady(t, i.admin, 200, "ok")
	if _, err := call(t.Context(), i.base, i.key, "POST", "/urls",
		`{"urls":[{"long_url":"https://example.com/","custom_hash":"link0"}]}`); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	visitors := i.visit(1)
	var clients sync.WaitGroup
	all := make([]*client, 4)
	for n := range all {
		all[n] = &client{installation: i, name: fmt.Sprint("client", n)}
		clients.Go(func() {
			if err := all[n].work(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	clients.Go(func() {
		for ctx.Err() == nil {
			if i.clicks() < 0 {
				t.Error("the list of links was refused")
			}
		}
	})
	rebuild := append([]string{"projections", "rebuild", "--all"}, i.backends()...)
	if out, log, code := command(t, rebuild...); code != 0 {
		t.Errorf("rebuild ended with %d:\n%s%s", code, out, log)
	}
	i.awaitRedirects(visitors)
	stop()
	clients.Wait()

	killed := startChild(t, program, rebuild...)
	i.service.kill()
	killed.kill()
	began := time.Now()
	i.startService()
	awaitReady(t, i.admin, 200, "ok")
	t.Logf("ready %s after the kill", time.Since(began))
	i.awaitRedirects(visitors)
	visitors.stop()
	visitors.visitors.Wait()
	if visitors.refused.Load() > 0 {
		t.Errorf("%d visitors were refused", visitors.refused.Load())
	}
	for _, c := range all {
		for n, note := range c.seen {
			if err := c.read(t.Context(), n, note); err != nil {
				t.Error(err)
			}
		}
		t.Logf("%s made %d links", c.name, len(c.seen))
	}
	answered, cutOff := visitors.answered.Load(), visitors.cutOff.Load()
	clicks := func() int64 { // the lists of i.clicks have fewer links than the clients make
		link, err := call(t.Context(), i.base, i.key, "GET", "/urls/link0", "")
		if err != nil {
			return -1
		}
		return int64(link["urls"].([]any)[0].(map[string]any)["total_clicks"].(float64))
	}
	i.eventually("every answered click is counted", func() bool { return clicks() >= answered })
	if counted := clicks(); counted > answered+cutOff {
		t.Errorf("%d clicks are counted, %d were answered and %d cut off", counted, answered, cutOff)
	}
	t.Logf("%d redirects, %d cut off", answered, cutOff)
	if out, log, code := command(t, append([]string{"projections", "verify", "--all"}, i.backends()...)...); code != 0 ||
		strings.Count(out, " 0 different\n") != len(projections.Names()) {
		t.Errorf("verify ended with %d:\n%s%s", code, out, log)
	}
	if out, _, _ := command(t, append([]string{"projections", "dead-letters", "list"}, i.backends()...)...); strings.Contains(out, "0x") {
		t.Errorf("dead letters:\n%s", out)
	}
}

// TestSmallPool starts the service behind PgBouncer with a pool that others use up. The start must
// say what it waits for, and go on when there is room.
func TestSmallPool(t *testing.T) {
	t.Parallel()
	i := behindPooler(t, "default_pool_size = 6")
	var others []*pgx.Conn
	for range 6 {
		conn, err := pgx.Connect(t.Context(), i.dsn)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
		if _, err := conn.Exec(t.Context(), "SELECT 1"); err != nil {
			t.Fatal(err)
		}
		others = append(others, conn)
	}
	_, log := newService(i, append(i.backends(), "--log-format=json")...)
	log.await("waiting", `"dependency":"database"`, "pool_size")
	awaitReady(t, i.admin, 503, "pool_size")
	for _, conn := range others {
		if err := conn.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	log.await("the dependency answers", `"dependency":"database"`)
}

// TestStartWaitsForLock holds the lock of the schemas while the service starts. The start must name
// the holder, and go on when its connection is cut, as by the end of its process.
func TestStartWaitsForLock(t *testing.T) {
	t.Parallel()
	i := behindPooler(t, "default_pool_size = 60")
	i.startService()
	i.openAccount()
	i.service.kill()
	db, err := readmodel.Open(t.Context(), i.dsn+"&application_name=another", 1)
	if err != nil {
		t.Fatal(err)
	}
	held := make(chan error, 1)
	locked := make(chan struct{})
	go func() {
		held <- db.Locked(context.WithoutCancel(t.Context()), func(ctx context.Context) error {
			close(locked)
			<-t.Context().Done()
			return nil
		})
	}()
	<-locked
	process, log := newService(i, append(i.backends(), "--log-format=json")...)
	line := log.await("waiting", "lock of the schemas", `application \"another\"`)
	awaitReady(t, i.admin, 503, "pg_terminate_backend(")
	pid := regexp.MustCompile(`pg_terminate_backend\((\d+)\)`).FindStringSubmatch(line)
	if pid == nil {
		t.Fatalf("no process in %s", line)
	}
	if _, err := db.NewRaw("SELECT pg_terminate_backend(?::int)", pid[1]).Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	log.await("the dependency answers", "lock of the schemas")
	awaitReady(t, i.admin, 200, "ok")
	if err := process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := <-held; err == nil {
			t.Error("a holder that has lost the lock is not told")
		}
		_ = db.Close()
	})
}
