package outages_test

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

	"linkledger/e2e/e2etest"
	"linkledger/e2e/installtest"
	"linkledger/internal/pgserver"
)

// runAsOwner runs a statement in the database of an installation.
func runAsOwner(i *installtest.Installation, statement string) {
	i.T.Helper()
	conn, err := pgx.Connect(i.T.Context(), i.Database.DSN())
	if err != nil {
		i.T.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(i.T.Context())) }()
	if _, err := conn.Exec(i.T.Context(), statement); err != nil {
		i.T.Fatalf("%s: %v", statement, err)
	}
}

// urlOfDatabase returns the connection string of another database of the same server.
func urlOfDatabase(i *installtest.Installation, name string) string {
	i.T.Helper()
	u, err := url.Parse(i.Database.DSN())
	if err != nil {
		i.T.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}

// TestUnfitDatabases starts the service with databases that it cannot use. It must end at once with
// what the database lacks.
func TestUnfitDatabases(t *testing.T) {
	t.Parallel()
	i := installtest.NotStarted(t)
	t.Cleanup(i.StopDatabase)
	i.StartStore()
	runAsOwner(i, "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'")
	for want, dsn := range map[string]string{
		"its encoding is LATIN1 and must be UTF8": urlOfDatabase(i, "latin"),
		"its search_path (nowhere) names no":      i.Database.DSN() + "&search_path=nowhere",
	} {
		out, log, code := e2etest.Command(t, "serve", "--eventstore", "esdb://"+i.StoreAddress+"?tls=false", "--database", dsn,
			"--roles=api", "--log-level=error", "--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0")
		if code != e2etest.ExitUsage || !strings.Contains(log, want) || !strings.Contains(log, "--database (LINKLEDGER_DATABASE)") {
			t.Errorf("ended with %d, want %q:\n%s%s", code, want, out, log)
		}
	}
}

// TestReadOnlyDatabase starts the service while the database accepts no changes. It must wait, say
// why, and go on when the database accepts them.
func TestReadOnlyDatabase(t *testing.T) {
	t.Parallel()
	i := installtest.NotStarted(t)
	t.Cleanup(i.StopDatabase)
	i.StartStore()
	const set = "ALTER DATABASE linkledger SET default_transaction_read_only = "
	runAsOwner(i, set+"on")
	_, log := installtest.NewService(i, append(i.Backends(), "--log-format=json")...)
	log.Await("waiting", `"dependency":"database"`, "read-only")
	e2etest.AwaitReady(t, i.Admin, http.StatusServiceUnavailable, "read-only")
	runAsOwner(i, fmt.Sprintf("SET transaction_read_only = off; %soff", set))
	log.Await("the dependency answers", `"dependency":"database"`)
	e2etest.AwaitReady(t, i.Admin, http.StatusOK, "ok")
}

// configure appends lines to a file of the database's cluster, which does not run.
func configure(i *installtest.Installation, folder, file string, lines ...string) {
	i.T.Helper()
	path := filepath.Join(i.Folder, folder, "cluster", file)
	opened, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = opened.WriteString(strings.Join(lines, "\n") + "\n")
		err = errors.Join(err, opened.Close())
	}
	if err != nil {
		i.T.Fatal(err)
	}
}

// TestFewConnections runs the service under load on a PostgreSQL that has 8 connections for all.
func TestFewConnections(t *testing.T) {
	t.Parallel()
	i := installtest.NotStarted(t)
	i.StopDatabase()
	configure(i, "postgres", "postgresql.conf", "max_connections = 8", "superuser_reserved_connections = 1")
	i.StartStore()
	i.StartDatabase()
	t.Cleanup(i.StopDatabase)
	i.OpenAccountBy("--eventstore", "esdb://"+i.StoreAddress+"?tls=false") // and no connection to PostgreSQL
	i.StartService()
	workWith(t, i)
}

// workWith creates, edits, reads and visits links for a while. Nothing may be refused or lost.
func workWith(t *testing.T, i *installtest.Installation) {
	t.Helper()
	i.Eventually("the account is known", func() bool { return i.Clicks() >= 0 })
	body := `{"urls":[{"long_url":"https://example.com/","custom_hash":"link0"}]}`
	if _, err := e2etest.Call(t.Context(), i.Base, i.Key, "POST", "/urls", body); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	c := &installtest.Client{Installation: i, Name: "client"}
	worked := make(chan error, 1)
	go func() { worked <- c.Work(ctx) }()
	visitors := i.Visit(1)
	i.AwaitRedirects(visitors)
	stop()
	visitors.Stop()
	visitors.Visitors.Wait()
	if err := <-worked; err != nil {
		t.Error(err)
	}
	if visitors.Refused.Load()+visitors.CutOff.Load() > 0 {
		t.Errorf("%d visitors were refused, %d cut off", visitors.Refused.Load(), visitors.CutOff.Load())
	}
	i.Eventually("every click is counted", func() bool { return i.Clicks() >= visitors.Answered.Load() })
}

// TestFailOverOfPostgreSQL gives the service a primary and a standby, ends the primary under load and
// promotes the standby. A start waits meanwhile, and says why. Afterwards nothing is lost.
func TestFailOverOfPostgreSQL(t *testing.T) {
	t.Parallel()
	i := installtest.NotStarted(t)
	i.StopDatabase()
	// The server of the standby runs as PostgreSQL does, whose user must be able to enter the folder.
	if err := os.Chmod(filepath.Dir(i.Folder), 0o711); err != nil {
		t.Fatal(err)
	}
	configure(i, "postgres", "postgresql.conf", "wal_level = replica", "max_wal_senders = 4")
	configure(i, "postgres", "pg_hba.conf", "local replication all trust")
	i.StartDatabase() // a standby refuses a log that was written with less
	i.StopDatabase()
	standby := filepath.Join(i.Folder, "standby")
	if err := os.Mkdir(standby, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", filepath.Join(i.Folder, "postgres", "cluster"), standby).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	i.StartDatabase()
	sockets := func(dsn string) string {
		u, err := url.Parse(dsn)
		if err != nil {
			t.Fatal(err)
		}
		return u.Query().Get("host")
	}
	primary := sockets(i.Database.DSN())
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
	i.DSN = fmt.Sprintf("postgres://linkledger@/linkledger?host=%s,%s&sslmode=disable&target_session_attrs=read-write",
		url.QueryEscape(primary), url.QueryEscape(sockets(second.DSN())))
	i.StartStore()
	i.StartService()
	i.OpenAccount()
	workWith(t, i)

	waits := *i
	waits.Base, waits.Admin, waits.Folder = "http://"+installtest.FreeAddress(t), "http://"+installtest.FreeAddress(t), t.TempDir()
	waits.DSN = second.DSN()
	_, log := installtest.NewService(&waits, append(waits.Backends(), "--log-format=json")...)
	log.Await("waiting", `"dependency":"database"`, "standby that has not been promoted")
	i.StopDatabase()
	i.Database = second
	runAsOwner(i, "SELECT pg_promote()")
	log.Await("the dependency answers", `"dependency":"database"`)
	i.Eventually("the service is ready", func() bool { return installtest.Readiness(t, i.Admin)["database"] == "ok" && i.Clicks() > 0 })
	before := i.Clicks()
	visitors := i.Visit(1)
	i.AwaitRedirects(visitors)
	visitors.Stop()
	visitors.Visitors.Wait()
	if visitors.Refused.Load() > 0 {
		t.Errorf("%d visitors were refused", visitors.Refused.Load())
	}
	i.Eventually("every click is counted", func() bool { return i.Clicks() >= before+visitors.Answered.Load() })

	// The former primary comes back, and stands first.
	i.StartDatabase()
	former := i.Database
	t.Cleanup(func() {
		if err := former.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	anew := *i
	anew.Base, anew.Admin, anew.Folder = "http://"+installtest.FreeAddress(t), "http://"+installtest.FreeAddress(t), t.TempDir()
	_, started := installtest.NewService(&anew, anew.Backends()...)
	started.Await("serving", "roles=")
	i.Eventually("the node that starts shows the promoted database", func() bool { return anew.Clicks() >= before })
	misled := *i
	misled.Base, misled.Admin, misled.Folder = "http://"+installtest.FreeAddress(t), "http://"+installtest.FreeAddress(t), t.TempDir()
	misled.DSN = former.DSN()
	_, said := installtest.NewService(&misled, append(misled.Backends(), "--log-format=json")...)
	said.Await("waiting", `"dependency":"database"`, "former primary", "--replace-database=2")
}
