package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"linkledger/internal/pgserver"
)

// runAsOwner runs a statement in the database of an installation.
func runAsOwner(i *installation, statement string) {
	i.t.Helper()
	conn, err := pgx.Connect(i.t.Context(), i.database.DSN())
	if err != nil {
		i.t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(i.t.Context())) }()
	if _, err := conn.Exec(i.t.Context(), statement); err != nil {
		i.t.Fatalf("%s: %v", statement, err)
	}
}

// urlOfDatabase returns the connection string of another database of the same server.
func urlOfDatabase(i *installation, name string) string {
	i.t.Helper()
	u, err := url.Parse(i.database.DSN())
	if err != nil {
		i.t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}

// TestUnfitDatabases starts the service with databases that it cannot use. It must end at once with
// what the database lacks.
func TestUnfitDatabases(t *testing.T) {
	t.Parallel()
	i := notStarted(t)
	t.Cleanup(i.stopDatabase)
	i.startStore()
	runAsOwner(i, "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'")
	for want, dsn := range map[string]string{
		"its encoding is LATIN1 and must be UTF8": urlOfDatabase(i, "latin"),
		"its search_path (nowhere) names no":      i.database.DSN() + "&search_path=nowhere",
	} {
		out, log, code := command(t, "serve", "--eventstore", "esdb://"+i.storeAddress+"?tls=false", "--database", dsn,
			"--roles=api", "--log-level=error", "--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0")
		if code != exitUsage || !strings.Contains(log, want) || !strings.Contains(log, "--database (LINKLEDGER_DATABASE)") {
			t.Errorf("ended with %d, want %q:\n%s%s", code, want, out, log)
		}
	}
}

// TestReadOnlyDatabase starts the service while the database accepts no changes. It must wait, say
// why, and go on when the database accepts them.
func TestReadOnlyDatabase(t *testing.T) {
	t.Parallel()
	i := notStarted(t)
	t.Cleanup(i.stopDatabase)
	i.startStore()
	const set = "ALTER DATABASE linkledger SET default_transaction_read_only = "
	runAsOwner(i, set+"on")
	_, log := newService(i, append(i.backends(), "--log-format=json")...)
	log.await("waiting", `"dependency":"database"`, "read-only")
	awaitReady(t, i.admin, http.StatusServiceUnavailable, "read-only")
	runAsOwner(i, fmt.Sprintf("SET transaction_read_only = off; %soff", set))
	log.await("the dependency answers", `"dependency":"database"`)
	awaitReady(t, i.admin, http.StatusOK, "ok")
}

// configure appends lines to a file of the database's cluster, which does not run.
func configure(i *installation, folder, file string, lines ...string) {
	i.t.Helper()
	path := filepath.Join(i.folder, folder, "cluster", file)
	opened, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = opened.WriteString(strings.Join(lines, "\n") + "\n")
		err = errors.Join(err, opened.Close())
	}
	if err != nil {
		i.t.Fatal(err)
	}
}

// TestFewConnections runs the service under load on a PostgreSQL that has 8 connections for all.
func TestFewConnections(t *testing.T) {
	t.Parallel()
	i := notStarted(t)
	i.stopDatabase()
	configure(i, "postgres", "postgresql.conf", "max_connections = 8", "superuser_reserved_connections = 1")
	i.startStore()
	i.startDatabase()
	t.Cleanup(i.stopDatabase)
	i.openAccountBy("--eventstore", "esdb://"+i.storeAddress+"?tls=false") // and no connection to PostgreSQL
	i.startService()
	workWith(t, i)
}

// workWith creates, edits, reads and visits links for a while. Nothing may be refused or lost.
func workWith(t *testing.T, i *installation) {
	t.Helper()
	i.eventually("the account is known", func() bool { return i.clicks() >= 0 })
	body := `{"urls":[{"long_url":"https://example.com/","custom_hash":"link0"}]}`
	if _, err := call(t.Context(), i.base, i.key, "POST", "/urls", body); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	c := &client{installation: i, name: "client"}
	worked := make(chan error, 1)
	go func() { worked <- c.work(ctx) }()
	visitors := i.visit(1)
	i.awaitRedirects(visitors)
	stop()
	visitors.stop()
	visitors.visitors.Wait()
	if err := <-worked; err != nil {
		t.Error(err)
	}
	if visitors.refused.Load()+visitors.cutOff.Load() > 0 {
		t.Errorf("%d visitors were refused, %d cut off", visitors.refused.Load(), visitors.cutOff.Load())
	}
	i.eventually("every click is counted", func() bool { return i.clicks() >= visitors.answered.Load() })
}

// TestFailOverOfPostgreSQL gives the service a primary and a standby, ends the primary under load and
// promotes the standby. A start waits meanwhile, and says why. Afterwards nothing is lost.
func TestFailOverOfPostgreSQL(t *testing.T) {
	t.Parallel()
	i := notStarted(t)
	i.stopDatabase()
	// The server of the standby runs as PostgreSQL does, whose user must be able to enter the folder.
	if err := os.Chmod(filepath.Dir(i.folder), 0o711); err != nil {
		t.Fatal(err)
	}
	configure(i, "postgres", "postgresql.conf", "wal_level = replica", "max_wal_senders = 4")
	configure(i, "postgres", "pg_hba.conf", "local replication all trust")
	i.startDatabase() // a standby refuses a log that was written with less
	i.stopDatabase()
	standby := filepath.Join(i.folder, "standby")
	if err := os.Mkdir(standby, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", filepath.Join(i.folder, "postgres", "cluster"), standby).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	i.startDatabase()
	sockets := func(dsn string) string {
		u, err := url.Parse(dsn)
		if err != nil {
			t.Fatal(err)
		}
		return u.Query().Get("host")
	}
	primary := sockets(i.database.DSN())
	configure(i, "standby", "postgresql.conf", fmt.Sprintf("primary_conninfo = 'host=%s user=linkledger'", primary))
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", "--attributes-only", filepath.Join(standby, "cluster", "PG_VERSION"),
		filepath.Join(standby, "cluster", "standby.signal")).CombinedOutput(); err != nil { // with the same owner
		t.Fatalf("%v: %s", err, out)
	}
	second, err := pgserver.Start(t.Context(), pgserver.Config{
		Dir: standby, BinDir: os.Getenv("LINKLEDGER_POSTGRES_BIN"), Unsafe: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := second.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	i.dsn = fmt.Sprintf("postgres://linkledger@/linkledger?host=%s,%s&sslmode=disable&target_session_attrs=read-write",
		url.QueryEscape(primary), url.QueryEscape(sockets(second.DSN())))
	i.startStore()
	i.startService()
	i.openAccount()
	workWith(t, i)

	waits := *i
	waits.base, waits.admin, waits.folder = "http://"+freeAddress(t), "http://"+freeAddress(t), t.TempDir()
	waits.dsn = second.DSN()
	_, log := newService(&waits, append(waits.backends(), "--log-format=json")...)
	log.await("waiting", `"dependency":"database"`, "standby that has not been promoted")
	i.stopDatabase()
	i.database = second
	runAsOwner(i, "SELECT pg_promote()")
	log.await("the dependency answers", `"dependency":"database"`)
	i.eventually("the service is ready", func() bool { return readiness(t, i.admin)["database"] == "ok" && i.clicks() > 0 })
	before := i.clicks()
	visitors := i.visit(1)
	i.awaitRedirects(visitors)
	visitors.stop()
	visitors.visitors.Wait()
	if visitors.refused.Load() > 0 {
		t.Errorf("%d visitors were refused", visitors.refused.Load())
	}
	i.eventually("every click is counted", func() bool { return i.clicks() >= before+visitors.answered.Load() })

	// The former primary comes back, and stands first.
	i.startDatabase()
	former := i.database
	t.Cleanup(func() {
		if err := former.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	anew := *i
	anew.base, anew.admin, anew.folder = "http://"+freeAddress(t), "http://"+freeAddress(t), t.TempDir()
	_, started := newService(&anew, anew.backends()...)
	started.await("serving", "roles=")
	i.eventually("the node that starts shows the promoted database", func() bool { return anew.clicks() >= before })
	misled := *i
	misled.base, misled.admin, misled.folder = "http://"+freeAddress(t), "http://"+freeAddress(t), t.TempDir()
	misled.dsn = former.DSN()
	_, said := newService(&misled, append(misled.backends(), "--log-format=json")...)
	said.await("waiting", `"dependency":"database"`, "former primary", "--replace-database=2")
}
