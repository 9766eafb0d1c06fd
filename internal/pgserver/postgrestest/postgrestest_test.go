package postgrestest_test

import (
	"strconv"
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
