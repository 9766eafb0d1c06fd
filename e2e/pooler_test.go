package e2e

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"linkledger/internal/pgserver/bouncertest"
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
	_, log := i.newService(append(i.backends(), "--log-format=json")...)
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
	process, log := i.newService(append(i.backends(), "--log-format=json")...)
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
