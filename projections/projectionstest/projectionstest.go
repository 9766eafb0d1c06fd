package projectionstest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"linkledger/events/eventstore/eventstoretest"
	"linkledger/internal/pgserver/postgrestest"
	"linkledger/internal/soak"
	"linkledger/projections"
	"linkledger/projections/readmodel"
)

// T has the methods that *testing.T, *testing.B and *rapid.T share.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Main runs the tests of a package with a PostgreSQL, and fails if they leave goroutines behind.
func Main(m *testing.M) {
	soak.Checks(20, 200)
	eventstoretest.Main(postgrestest.Main{M: m})
}

// timeout bounds the waits of a test.
const timeout = 3 * time.Minute

// Context returns a context that bounds the waits of a test.
func Context(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	t.Cleanup(cancel)
	return ctx
}

var prepared = postgrestest.NewTemplate(func(ctx context.Context, dsn string) error {
	db, err := readmodel.Open(ctx, dsn, 1)
	if err != nil {
		return err
	}
	return errors.Join(Prepare(ctx, db), db.Close())
})

// NewDatabase returns the connection URL of a prepared database for one test.
func NewDatabase(t testing.TB) string {
	t.Helper()
	return prepared.NewDatabase(t)
}

// Open opens a prepared database for one test.
func Open(t testing.TB) *readmodel.DB {
	t.Helper()
	return OpenAt(t, NewDatabase(t))
}

// OpenAt opens the database of a connection URL until the test ends.
func OpenAt(t testing.TB, dsn string) *readmodel.DB {
	t.Helper()
	db, err := readmodel.Open(Context(t), dsn, 8)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close the database: %v", err)
		}
	})
	return db
}

// Prepare creates the schemas of a database.
func Prepare(ctx context.Context, db *readmodel.DB) error {
	return errors.Join(projections.Prepare(ctx, db), db.Keys.Create(ctx))
}

// Present holds the presence lock of a process until the test ends or leave is called.
func Present(t testing.TB, db *readmodel.DB, process string) (leave func()) {
	t.Helper()
	left, err := db.Present(Context(t), process)
	if err != nil {
		t.Fatal(err)
	}
	leave = sync.OnceFunc(func() {
		if err := left(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(leave)
	return leave
}

// Count returns the number that a query selects.
func Count(t testing.TB, db *readmodel.DB, query string, args ...any) int64 {
	t.Helper()
	var n int64
	if err := db.NewRaw(query, args...).Scan(Context(t), &n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// Exec executes a statement and returns how many rows it has affected.
func Exec(t testing.TB, db *readmodel.DB, statement string, args ...any) int64 {
	t.Helper()
	result, err := db.NewRaw(statement, args...).Exec(Context(t))
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	n, err := result.RowsAffected()
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return n
}

// Dump returns all rows of a schema as text.
func Dump(ctx context.Context, t T, db *readmodel.DB, schema string) string {
	t.Helper()
	var tables []string
	if err := db.NewRaw("SELECT tablename FROM pg_tables WHERE schemaname = ? ORDER BY 1", schema).
		Scan(ctx, &tables); err != nil {
		t.Fatalf("tables of %s: %v", schema, err)
	}
	var dump strings.Builder
	for _, table := range tables {
		var rows string
		if err := db.NewRaw(
			"SELECT coalesce(string_agg(r::text, E'\n' ORDER BY r::text), '') FROM ?.? r WHERE ?",
			bun.Ident(schema), bun.Ident(table), readmodel.NonEmptyRow(table),
		).Scan(ctx, &rows); err != nil {
			t.Fatalf("dump %s.%s: %v", schema, table, err)
		}
		dump.WriteString(table + "\n" + rows + "\n")
	}
	return dump.String()
}
