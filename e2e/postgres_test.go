package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// asOwner runs a statement in the database of an installation.
func (i *installation) asOwner(statement string) {
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

// withDatabase returns the connection string of another database of the same server.
func (i *installation) withDatabase(name string) string {
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
	i.asOwner("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'")
	for want, dsn := range map[string]string{
		"its encoding is LATIN1 and must be UTF8": i.withDatabase("latin"),
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
	i.asOwner(set + "on")
	_, log := i.newService(append(i.backends(), "--log-format=json")...)
	log.await("waiting", `"dependency":"database"`, "read-only")
	awaitReady(t, i.admin, http.StatusServiceUnavailable, "read-only")
	i.asOwner(fmt.Sprintf("SET transaction_read_only = off; %soff", set))
	log.await("the dependency answers", `"dependency":"database"`)
	awaitReady(t, i.admin, http.StatusOK, "ok")
}
