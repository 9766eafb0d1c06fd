package postgrestest_test

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"linkledger/internal/pgserver/postgrestest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.Main{M: m}) }

// TestDatabasesAreIsolated checks that every parallel test gets an empty database that no other
// test uses.
func TestDatabasesAreIsolated(t *testing.T) {
	t.Parallel()
	for i := range 8 {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			conn, err := pgx.Connect(t.Context(), postgrestest.NewDatabase(t))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close(t.Context()) }()
			if _, err := conn.Exec(t.Context(), `CREATE TABLE link (id int); INSERT INTO link VALUES (1)`); err != nil {
				t.Fatal(err)
			}
			var rows int
			if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM link`).Scan(&rows); err != nil {
				t.Fatal(err)
			}
			if rows != 1 {
				t.Fatalf("got %d rows, want only this test's row", rows)
			}
		})
	}
}

// TestCopiesOfATemplate checks that a template is filled once, and that every parallel test gets
// a copy of its own.
func TestCopiesOfATemplate(t *testing.T) {
	t.Parallel()
	var filled atomic.Int32
	template := postgrestest.NewTemplate(func(ctx context.Context, dsn string) error {
		filled.Add(1)
		conn, err := pgx.Connect(ctx, dsn)
		if err != nil {
			return err
		}
		_, err = conn.Exec(ctx, `CREATE TABLE link (id int); INSERT INTO link VALUES (1)`)
		return errors.Join(err, conn.Close(ctx))
	})
	for i := range 8 {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			conn, err := pgx.Connect(t.Context(), template.NewDatabase(t))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close(t.Context()) }()
			var rows int
			err = conn.QueryRow(
				t.Context(), `WITH own AS (INSERT INTO link VALUES (2)) SELECT count(*) FROM link`,
			).Scan(&rows)
			if err != nil {
				t.Fatal(err)
			}
			if rows != 1 || filled.Load() != 1 {
				t.Errorf("%d rows in a template filled %d times, want 1 in one filled once", rows, filled.Load())
			}
		})
	}
}

//nolint:tparallel // the subtest MUST end, and drop its database, before the check
func TestDropCutsOpenConnections(t *testing.T) {
	t.Parallel()
	var conn *pgx.Conn
	t.Run("owner", func(t *testing.T) {
		var err error
		if conn, err = pgx.Connect(t.Context(), postgrestest.NewDatabase(t)); err != nil {
			t.Fatal(err)
		}
	})
	if conn == nil {
		return // -short has skipped the subtest
	}
	if err := conn.Ping(t.Context()); err == nil {
		t.Error("the connection still works after the database was dropped")
	}
	_ = conn.Close(t.Context())
}

func BenchmarkNewDatabase(b *testing.B) {
	for b.Loop() {
		_ = postgrestest.NewDatabase(b)
	}
}
