package outages_test

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

	"linkledger/e2e/e2etest"
	"linkledger/e2e/installtest"
	"linkledger/internal/pgserver/bouncertest"
	"linkledger/projections"
	"linkledger/projections/readmodel"
)

// behindPooler is an installation whose services will reach the database through PgBouncer.
func behindPooler(t *testing.T, settings ...string) *installtest.Installation {
	t.Helper()
	i := installtest.NotStarted(t)
	t.Cleanup(i.StopDatabase)
	i.StartStore()
	// PgBouncer runs as PostgreSQL does, whose user must be able to enter the folder.
	if err := os.Chmod(filepath.Dir(i.Folder), 0o711); err != nil {
		t.Fatal(err)
	}
	i.DSN = bouncertest.Start(t, i.Database.DSN(), settings...)
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
				out, log, code := e2etest.Command(t, append(args, i.Backends()...)...)
				if code != e2etest.ExitUsage || !strings.Contains(log, "pool_mode = session") {
					t.Errorf("%s ended with %d:\n%s%s", args[0], code, out, log)
				}
			}
		})
	}
}

// TestPooler runs the service behind PgBouncer with its defaults, except for the size of its pool, which has to hold
// the connections of a service and of a command. The load is creates, edits, reads, lists and redirects while all
// projections are rebuilt, then a kill and a restart under load, while a rebuild is killed too. The running service may
// refuse nothing, and nothing may be lost.
func TestPooler(t *testing.T) {
	t.Parallel()
	i := behindPooler(t, "default_pool_size = 60")
	i.StartService()
	i.OpenAccount()
	e2etest.AwaitReady(t, i.Admin, 200, "ok")
	if _, err := e2etest.Call(t.Context(), i.Base, i.Key, "POST", "/urls",
		`{"urls":[{"long_url":"https://example.com/","custom_hash":"link0"}]}`); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	visitors := i.Visit(1)
	var clients sync.WaitGroup
	all := make([]*installtest.Client, 4)
	for n := range all {
		all[n] = &installtest.Client{Installation: i, Name: fmt.Sprint("client", n)}
		clients.Go(func() {
			if err := all[n].Work(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	clients.Go(func() {
		for ctx.Err() == nil {
			if i.Clicks() < 0 {
				t.Error("the list of links was refused")
			}
		}
	})
	rebuild := append([]string{"projections", "rebuild", "--all"}, i.Backends()...)
	if out, log, code := e2etest.Command(t, rebuild...); code != 0 {
		t.Errorf("rebuild ended with %d:\n%s%s", code, out, log)
	}
	i.AwaitRedirects(visitors)
	stop()
	clients.Wait()

	killed := installtest.StartChild(t, e2etest.Program, rebuild...)
	i.Service.Kill()
	killed.Kill()
	began := time.Now()
	i.StartService()
	e2etest.AwaitReady(t, i.Admin, 200, "ok")
	t.Logf("ready %s after the kill", time.Since(began))
	i.AwaitRedirects(visitors)
	visitors.Stop()
	visitors.Visitors.Wait()
	if visitors.Refused.Load() > 0 {
		t.Errorf("%d visitors were refused", visitors.Refused.Load())
	}
	for _, c := range all {
		for n, note := range c.Seen {
			if err := c.Read(t.Context(), n, note); err != nil {
				t.Error(err)
			}
		}
		t.Logf("%s made %d links", c.Name, len(c.Seen))
	}
	answered, cutOff := visitors.Answered.Load(), visitors.CutOff.Load()
	clicks := func() int64 { // the lists of i.clicks have fewer links than the clients make
		link, err := e2etest.Call(t.Context(), i.Base, i.Key, "GET", "/urls/link0", "")
		if err != nil {
			return -1
		}
		return int64(link["urls"].([]any)[0].(map[string]any)["total_clicks"].(float64))
	}
	i.Eventually("every answered click is counted", func() bool { return clicks() >= answered })
	if counted := clicks(); counted > answered+cutOff {
		t.Errorf("%d clicks are counted, %d were answered and %d cut off", counted, answered, cutOff)
	}
	t.Logf("%d redirects, %d cut off", answered, cutOff)
	if out, log, code := e2etest.Command(t, append([]string{"projections", "verify", "--all"}, i.Backends()...)...); code != 0 ||
		strings.Count(out, " 0 different\n") != len(projections.Names()) {
		t.Errorf("verify ended with %d:\n%s%s", code, out, log)
	}
	if out, _, _ := e2etest.Command(t, append([]string{"projections", "dead-letters", "list"}, i.Backends()...)...); strings.Contains(out, "0x") {
		t.Errorf("dead letters:\n%s", out)
	}
}

// TestSmallPool starts the service behind PgBouncer with a pool that others use up. The start must name the reason for
// its wait, and continue when there is room.
func TestSmallPool(t *testing.T) {
	t.Parallel()
	i := behindPooler(t, "default_pool_size = 6")
	var others []*pgx.Conn
	for range 6 {
		conn, err := pgx.Connect(t.Context(), i.DSN)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
		if _, err := conn.Exec(t.Context(), "SELECT 1"); err != nil {
			t.Fatal(err)
		}
		others = append(others, conn)
	}
	_, log := installtest.NewService(i, append(i.Backends(), "--log-format=json")...)
	log.Await("waiting", `"dependency":"database"`, "pool_size")
	e2etest.AwaitReady(t, i.Admin, 503, "pool_size")
	for _, conn := range others {
		if err := conn.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	log.Await("the dependency answers", `"dependency":"database"`)
}

// TestStartWaitsForLock holds the lock of the schemas while the service starts. The start must name
// the holder, and go on when its connection is cut, as by the end of its process.
func TestStartWaitsForLock(t *testing.T) {
	t.Parallel()
	i := behindPooler(t, "default_pool_size = 60")
	i.StartService()
	i.OpenAccount()
	i.Service.Kill()
	db, err := readmodel.Open(t.Context(), i.DSN+"&application_name=another", 1)
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
	process, log := installtest.NewService(i, append(i.Backends(), "--log-format=json")...)
	line := log.Await("waiting", "lock of the schemas", `application \"another\"`)
	e2etest.AwaitReady(t, i.Admin, 503, "pg_terminate_backend(")
	pid := regexp.MustCompile(`pg_terminate_backend\((\d+)\)`).FindStringSubmatch(line)
	if pid == nil {
		t.Fatalf("no process in %s", line)
	}
	if _, err := db.NewRaw("SELECT pg_terminate_backend(?::int)", pid[1]).Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	log.Await("the dependency answers", "lock of the schemas")
	e2etest.AwaitReady(t, i.Admin, 200, "ok")
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
