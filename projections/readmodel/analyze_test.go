package readmodel_test

import (
	"context"
	"testing"

	"github.com/uptrace/bun"

	"linkledger/internal/pgserver/postgrestest"
	"linkledger/projections/readmodel"
)

// TestAnalyze lets a table grow without autovacuum, and checks how many rows the planner assumes.
func TestAnalyze(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	if err := db.RunInTx(withTimeout(t), nil, func(ctx context.Context, tx bun.Tx) error {
		return readmodel.CreateTables(ctx, tx, "tags", 1)
	}); err != nil {
		t.Fatal(err)
	}
	grow := func(statement string) {
		if _, err := db.NewRaw(statement).Exec(withTimeout(t)); err != nil {
			t.Fatal(err)
		}
	}
	grow("ALTER TABLE tags_g1.tags SET (autovacuum_enabled = false)")
	add := "INSERT INTO tags_g1.tags SELECT gen_random_uuid(), gen_random_uuid(), repeat('x', 1900) || n, now(), n " +
		"FROM "
	known := func(what string, want float64) {
		t.Helper()
		if err := readmodel.Analyze(withTimeout(t), db, "tags", 1); err != nil {
			t.Fatal(err)
		}
		if got := scan[float64](
			t, db, "SELECT reltuples FROM pg_class WHERE oid = 'tags_g1.tags'::regclass",
		); got != want {
			t.Errorf("%s: the planner assumes %v rows, want %v", what, got, want)
		}
	}
	known("empty", -1)
	grow(add + "generate_series(1, 40) n")
	known("no larger than the planner assumes", -1)
	grow(add + "generate_series(41, 200) n")
	known("much larger", 200)
	grow(add + "generate_series(201, 350) n")
	known("not twice as large", 200)
	grow(add + "generate_series(351, 1000) n")
	err := db.RunInTx(withTimeout(t), nil, func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.ExecContext(ctx, "LOCK TABLE tags_g1.tags IN SHARE UPDATE EXCLUSIVE MODE") // like autovacuum
		known("in other hands", 200)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	known("twice as large", 1000)
}

// TestCompleteKeepsSettings checks that a connection that has vacuumed tables has its settings again.
func TestCompleteKeepsSettings(t *testing.T) {
	t.Parallel()
	db := open(t, postgrestest.NewDatabase(t)+"&statement_timeout=7s", 1)
	if err := db.Locked(withTimeout(t), db.Migrate); err != nil {
		t.Fatal(err)
	}
	if err := db.RunInTx(withTimeout(t), nil, func(ctx context.Context, tx bun.Tx) error {
		return readmodel.CreateBareTables(ctx, tx, "tags", 1)
	}); err != nil {
		t.Fatal(err)
	}
	confirm := func(context.Context, bun.Tx) error { return nil }
	if err := readmodel.Complete(withTimeout(t), db.DB, "tags", 1, confirm); err != nil {
		t.Fatal(err)
	}
	if got := scan[string](t, db, "SHOW statement_timeout"); got != "7s" {
		t.Errorf("the statement timeout is %s, want 7s", got)
	}
}
