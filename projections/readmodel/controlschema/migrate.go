package controlschema

// This file keeps the schema linkledger up to date, and refuses databases of other versions of the
// program.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/uptrace/bun"
)

// ErrNewer means that a newer version of the program has changed the database. Its message names
// both versions.
var ErrNewer = errors.New("the database belongs to a newer version of Linkledger")

// ErrNotUpgraded means that the database lacks migrations of this version of the program. The
// service applies them when it starts.
var ErrNotUpgraded = errors.New("the database lacks changes of this version of Linkledger: start " +
	"its service")

// adoptMigrations creates the list of the applied migrations. If a version before 0.2 has its list
// in the table migrations, adoptMigrations copies that list.
const adoptMigrations = `
	CREATE SCHEMA IF NOT EXISTS linkledger;
	CREATE TABLE IF NOT EXISTS linkledger.applied_migrations (
		name       text        PRIMARY KEY,
		program    text        NOT NULL,  -- version that applied it; empty: one before 0.2
		applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
	);
	DO $$ BEGIN
		IF EXISTS (SELECT FROM pg_class WHERE relnamespace = 'linkledger'::regnamespace
				AND relname = 'migrations' AND relkind = 'r') THEN
			INSERT INTO linkledger.applied_migrations (name, program)
			SELECT DISTINCT name, '' FROM linkledger.migrations ON CONFLICT DO NOTHING;
		END IF;
	END $$`

// migration is a change of the schema linkledger that is made once.
type migration struct {
	name       string // digits that give the order
	statements string
}

// all returns the migrations of this program in their order.
func (s *Schema) all() ([]migration, error) {
	files, err := fs.Glob(s.migrations, "migrations/*.sql")
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	slices.Sort(files)
	all := make([]migration, len(files))
	for i, file := range files {
		statements, err := fs.ReadFile(s.migrations, file)
		if err != nil {
			return nil, fmt.Errorf("migrations: %w", err)
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(file, "migrations/"), "_")
		all[i] = migration{name: name, statements: string(statements)}
	}
	return all, nil
}

// Migrate updates the schema linkledger. It MUST be called within Locked, and after CheckVersion.
// It may be killed at any point and called again, because a migration and the note that it is
// applied are one transaction.
func (s *Schema) Migrate(ctx context.Context) error {
	if _, err := s.db.ExecContext(ctx, adoptMigrations); err != nil {
		return fmt.Errorf("list the migrations: %w", err)
	}
	all, err := s.all()
	if err != nil {
		return err
	}
	applied, err := s.applied(ctx)
	if err != nil {
		return err
	}
	for _, m := range all {
		if _, done := applied[m.name]; done {
			continue
		}
		if err := s.db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
			if _, err := tx.ExecContext(ctx, m.statements); err != nil {
				return err
			}
			_, err := tx.NewRaw(
				"INSERT INTO linkledger.applied_migrations (name, program) VALUES (?, ?)", m.name,
				s.Program,
			).Exec(ctx)
			return err
		}); err != nil {
			return fmt.Errorf("migration %s: %w", m.name, err)
		}
	}
	return nil
}

// CheckVersion returns ErrNewer if the database has a migration that this program does not know,
// and ErrNotUpgraded if it lacks one.
func (s *Schema) CheckVersion(ctx context.Context) error {
	all, err := s.all()
	if err != nil {
		return err
	}
	applied, err := s.applied(ctx)
	if err != nil {
		return err
	}
	lacks := false
	for _, m := range all {
		if _, done := applied[m.name]; !done {
			lacks = true
		}
		delete(applied, m.name)
	}
	newest := ""
	for name := range applied {
		newest = max(newest, name)
	}
	switch {
	case newest != "":
		return fmt.Errorf(
			"%w: %s has changed it by the migration %s, which this program, %s, does not know: "+
				"start that version or a later one", ErrNewer, applied[newest], newest, s.Program,
		)
	case lacks:
		return ErrNotUpgraded
	}
	return nil
}

// applied returns the migrations that the database has, each with the version that applied it. It
// returns none for a database of a version before 0.2.
func (s *Schema) applied(ctx context.Context) (map[string]string, error) {
	var rows []struct{ Name, Program string }
	err := s.db.NewRaw("SELECT name, program FROM linkledger.applied_migrations").Scan(ctx, &rows)
	const undefinedTable = "42P01"
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == undefinedTable {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for applied migrations: %w", err)
	}
	applied := make(map[string]string, len(rows))
	for _, row := range rows {
		applied[row.Name] = row.Program
	}
	return applied, nil
}
