package controlschema_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"linkledger/internal/pgserver/postgrestest"
	"linkledger/projections/connection"
	"linkledger/projections/projectionstest"
	"linkledger/projections/readmodel/controlschema"
)

// run runs statements on a connection of their own.
func run(t *testing.T, dsn string, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	for _, statement := range statements {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// TestRequirements checks that a database that cannot have the schemas is refused with what it
// lacks and what to do, and that one that is read-only is waited for.
func TestRequirements(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change  []string
		setting string // of the connection string
		want    []string
		outage  bool
	}{
		"fit":             {},
		"other schema":    {change: []string{"DROP SCHEMA public", "CREATE SCHEMA own"}, setting: "&search_path=own"},
		"no schema":       {change: []string{"DROP SCHEMA public"}, want: []string{"search_path", "CREATE SCHEMA public"}},
		"no such schema":  {setting: "&search_path=nowhere", want: []string{"search_path (nowhere)", "ALTER DATABASE"}},
		"extension":       {change: []string{"CREATE SCHEMA x", "CREATE EXTENSION pg_trgm SCHEMA x"}, setting: "&search_path=public,x"},
		"other extension": {change: []string{"CREATE SCHEMA x", "CREATE EXTENSION pg_trgm SCHEMA x"}, want: []string{"pg_trgm is in the schema x", "search_path"}},
		"no extension": { // as the server shows it where the contrib modules are not installed
			change: []string{"CREATE SCHEMA x", `CREATE VIEW x.pg_available_extensions AS
				SELECT * FROM pg_catalog.pg_available_extensions WHERE name <> 'pg_trgm'`},
			setting: "&search_path=x,pg_catalog,public", want: []string{"lacks the extension pg_trgm", "postgresql-contrib"},
		},
		"read-only": {setting: "&default_transaction_read_only=on", want: []string{"default_transaction_read_only"}, outage: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := postgrestest.NewDatabase(t)
			run(t, dsn, tc.change...)
			err := projectionstest.OpenAt(t, dsn+tc.setting).CheckRequirements(projectionstest.Context(t))
			if (err != nil) != (tc.want != nil) || connection.Unavailable(err) != tc.outage {
				t.Fatalf("checked with %v", err)
			}
			for _, part := range tc.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("no %q in %v", part, err)
				}
			}
		})
	}
}

// TestEncodings checks that a database of another encoding is refused with what it must have.
func TestEncodings(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.NewDatabase(t)
	for _, encoding := range []string{"LATIN1", "SQL_ASCII", "EUC_JP", "UTF8"} {
		t.Run(encoding, func(t *testing.T) {
			t.Parallel()
			name := "encoded_" + strings.ToLower(encoding)
			run(t, dsn, fmt.Sprintf("CREATE DATABASE %s ENCODING '%s' TEMPLATE template0 LOCALE 'C'", name, encoding))
			t.Cleanup(func() {
				conn, err := pgx.Connect(context.WithoutCancel(t.Context()), dsn)
				if err != nil {
					t.Error(err)
					return
				}
				defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
				if _, err := conn.Exec(context.WithoutCancel(t.Context()), "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
					t.Error(err)
				}
			})
			u, err := url.Parse(dsn)
			if err != nil {
				t.Fatal(err)
			}
			u.Path = "/" + name
			err = projectionstest.OpenAt(t, u.String()).CheckRequirements(projectionstest.Context(t))
			if encoding == "UTF8" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, controlschema.ErrUnfit) || connection.Unavailable(err) || !strings.Contains(err.Error(), encoding) ||
				!strings.Contains(err.Error(), "must be UTF8") {
				t.Errorf("refused with %v", err)
			}
		})
	}
}

// TestUnavailable checks which errors a start waits out.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	for code, outage := range map[string]bool{
		"08006": true, "53300": true, "57P01": true, "57P03": true, "57014": true, // connection, resources, stopping, timeout
		"55P03": true, "40P01": true, "40001": true, "25006": true, "25P03": true, "58030": true, // locks, standby, disk
		"28P01": false, "28000": false, "3D000": false, "42501": false, "42P01": false, "22021": false, "XX001": false,
		"F0000": false, "": false,
	} {
		if got := connection.Unavailable(fmt.Errorf("open: %w", &pgconn.PgError{Code: code})); got != outage {
			t.Errorf("%s: an outage: %v", code, got)
		}
	}
}
