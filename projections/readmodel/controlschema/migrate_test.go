package controlschema_test

// This file tests the migrations of the schema linkledger, and which versions of the program may
// use a database.

import (
	"errors"
	"strings"
	"testing"

	"linkledger/internal/pgserver/postgrestest"
	"linkledger/projections/projectionstest"
	"linkledger/projections/readmodel"
	"linkledger/projections/readmodel/controlschema"
)

const countMigrations = "SELECT count(*) FROM linkledger.applied_migrations"

func TestMigrateTwice(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	once := projectionstest.Count(t, db, countMigrations)
	if err := db.Locked(projectionstest.Context(t), db.Migrate); err != nil {
		t.Fatal(err)
	}
	if n := projectionstest.Count(t, db, countMigrations); n != once || n == 0 {
		t.Errorf("%d migrations were applied, %d at first", n, once)
	}
	if err := db.CheckVersion(projectionstest.Context(t)); err != nil {
		t.Errorf("a database of this version: %v", err)
	}
}

// TestMigrationsEndBetweenEachTwoSteps ends the migrations before each note that one is applied, as
// a kill would, and goes on.
func TestMigrationsEndBetweenEachTwoSteps(t *testing.T) {
	t.Parallel()
	want := projectionstest.Count(t, migrated(t), countMigrations)
	db := projectionstest.OpenAt(t, postgrestest.NewDatabase(t))
	exec(t, db, `CREATE TABLE steps (allowed integer); INSERT INTO steps VALUES (0);
		CREATE FUNCTION end_here() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF (SELECT count(*) FROM linkledger.applied_migrations) >= (SELECT allowed FROM steps)
			THEN RAISE EXCEPTION 'killed here'; END IF;
			RETURN NEW;
		END $$;
		CREATE SCHEMA linkledger;
		CREATE TABLE linkledger.applied_migrations (
			name text PRIMARY KEY, program text NOT NULL,
			applied_at timestamptz NOT NULL DEFAULT clock_timestamp());
		CREATE TRIGGER end_here BEFORE INSERT ON linkledger.applied_migrations
			FOR EACH ROW EXECUTE FUNCTION end_here()`)
	for step := range want {
		err := db.Migrate(projectionstest.Context(t))
		if err == nil || !strings.Contains(err.Error(), "killed here") {
			t.Fatalf("after %d migrations: %v", step, err)
		}
		if err := db.CheckVersion(projectionstest.Context(t)); !errors.Is(err, controlschema.ErrNotUpgraded) {
			t.Errorf("after %d migrations the version is checked with %v", step, err)
		}
		exec(t, db, "UPDATE steps SET allowed = allowed + 1")
	}
	if err := db.Migrate(projectionstest.Context(t)); err != nil {
		t.Error(err)
	}
}

// TestNewerDatabase lets a newer version change a database that this version uses.
func TestNewerDatabase(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	db.Program = "v0.2.0"
	exec(t, db, `INSERT INTO linkledger.applied_migrations (name, program) VALUES
		('29990101000000', 'v0.9.0'), ('29990101000001', 'v0.10.0')`)
	err := db.CheckVersion(projectionstest.Context(t))
	if !errors.Is(err, controlschema.ErrNewer) || !strings.Contains(err.Error(), "v0.10.0") ||
		!strings.Contains(err.Error(), "v0.2.0") {
		t.Errorf("got %v, want an error that names both versions", err)
	}
}

// TestOlderPrograms does what programs before version 0.2 do when they start, and continues with
// their list of migrations.
func TestOlderPrograms(t *testing.T) {
	t.Parallel()
	db := projectionstest.OpenAt(t, postgrestest.NewDatabase(t))
	db.Program = "v0.2.0"
	const start = `CREATE SCHEMA IF NOT EXISTS linkledger;
		CREATE TABLE IF NOT EXISTS linkledger.migrations (
			id bigserial, name varchar, group_id bigint,
			migrated_at timestamptz NOT NULL DEFAULT current_timestamp, PRIMARY KEY (id));
		CREATE TABLE IF NOT EXISTS linkledger.migration_locks (
			id bigserial, table_name varchar, PRIMARY KEY (id), UNIQUE (table_name));`
	exec(t, db, start+`INSERT INTO linkledger.migrations (name, group_id) VALUES
		('20261101000000', 1), ('20261121000030', 1);
		CREATE TABLE linkledger.projections (name text CONSTRAINT projections_pkey PRIMARY KEY,
			generation integer, commit_pos bigint, prepare_pos bigint, updated_at timestamptz)`)
	for range 2 {
		if err := db.Migrate(projectionstest.Context(t)); err != nil {
			t.Fatal(err)
		}
		if n := projectionstest.Count(t, db, countMigrations+" WHERE program = ''"); n != 2 {
			t.Errorf("%d migrations are of the older program, want 2", n)
		}
		_, err := db.ExecContext(projectionstest.Context(t), start+"SELECT * FROM linkledger.migrations")
		if err == nil || !strings.Contains(
			err.Error(), "this database belongs to Linkledger v0.2.0, and this program is older",
		) {
			t.Errorf("an older program starts with %v", err)
		}
	}
}

func exec(t *testing.T, db *readmodel.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(projectionstest.Context(t), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}
