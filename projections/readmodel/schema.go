package readmodel

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/uptrace/bun"
)

// Channel is the NOTIFY channel on which every committed batch is announced as "<projection>
// <commit position>". If readers may cache rows of the projection, the keys that the batch has
// changed are announced before that: "<projection> changed <key> <key> ...", in as many
// notifications as necessary. Keys of links are hashes, and keys of accounts are ids.
const Channel = "linkledger"

// Changed marks a notification that lists changed keys.
const Changed = "changed "

// Everything in a list of changed keys stands for all keys of a projection.
const Everything = "*"

// SetAside in a list of changed keys stands for events that have been set aside.
const SetAside = "!"

// Uncached in a list of changed keys stands for changes of rows that readers do not cache. Clicks
// are not announced at all.
const Uncached = "."

// ControlChannel is the NOTIFY channel of the projectors of all processes. The name of a projection
// requests an election. "<projection> <position>" announces that a reader waits for that position.
const ControlChannel = "linkledger_control"

//go:embed *.sql
var projectionTables embed.FS

// GenerationSchema names the schema that holds one generation of a projection.
func GenerationSchema(projection string, generation int) string {
	return fmt.Sprintf("%s_g%d", projection, generation)
}

// Shape returns a fingerprint of the tables of a projection. Tables of another shape need another
// generation. Comments and white space do not change the shape.
func Shape(projection string) (string, error) {
	statements, err := statementsOf(projection)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(strings.Join(statements, ";")))
	return hex.EncodeToString(sum[:6]), nil
}

var (
	sqlComment = regexp.MustCompile(`--[^\n]*`)
	sqlSpace   = regexp.MustCompile(`\s+`)
	sqlIndex   = regexp.MustCompile(`^CREATE (UNIQUE )?INDEX `)
	// The first match is the table of the statement.
	sqlTable = regexp.MustCompile(`\?schema\.(\w+)`)
)

// statementsOf returns the SQL statements that create the tables and indexes of a projection.
func statementsOf(projection string) ([]string, error) {
	tables, err := projectionTables.ReadFile(projection + ".sql")
	if err != nil {
		return nil, fmt.Errorf("tables of %s: %w", projection, err)
	}
	var statements []string
	for statement := range strings.SplitSeq(sqlComment.ReplaceAllString(string(tables), ""), ";") {
		if statement = strings.TrimSpace(
			sqlSpace.ReplaceAllString(statement, " "),
		); statement != "" {
			statements = append(statements, statement)
		}
	}
	return statements, nil
}

// CreateTables creates the schema of a generation with the empty tables of its projection.
func CreateTables(ctx context.Context, tx bun.Tx, projection string, generation int) error {
	return createTables(ctx, tx, projection, generation, func(string) bool { return false })
}

// CreateBareTables creates the tables without indexes other than the primary keys, for a bulk load.
// Complete creates the indexes.
func CreateBareTables(ctx context.Context, tx bun.Tx, projection string, generation int) error {
	return createTables(ctx, tx, projection, generation, sqlIndex.MatchString)
}

func createTables(
	ctx context.Context, tx bun.Tx, projection string, generation int,
	without func(statement string) bool,
) error {
	statements, err := statementsOf(projection)
	if err != nil {
		return err
	}
	schema := GenerationSchema(projection, generation)
	if _, err := tx.NewRaw("CREATE SCHEMA ?", bun.Ident(schema)).Exec(ctx); err != nil {
		return fmt.Errorf("create the schema of %s: %w", projection, err)
	}
	return execStatements(ctx, tx, schema, slices.DeleteFunc(statements, without))
}

func execStatements(ctx context.Context, tx bun.Tx, schema string, statements []string) error {
	names := struct{ Schema bun.Ident }{bun.Ident(schema)}
	for _, statement := range statements {
		if _, err := tx.NewRaw(statement, names).Exec(ctx); err != nil {
			return fmt.Errorf("%s: %w", schema, err)
		}
	}
	return nil
}

// tablesOf returns the tables of a schema in the order of their creation.
func tablesOf(ctx context.Context, db bun.IDB, schema string) ([]string, error) {
	var tables []string
	const query = "SELECT relname FROM pg_class " +
		"WHERE relnamespace = to_regnamespace(?) AND relkind = 'r' ORDER BY oid"
	if err := db.NewRaw(query, schema).Scan(ctx, &tables); err != nil {
		return nil, fmt.Errorf("tables of %s: %w", schema, err)
	}
	return tables, nil
}

// limitToHalfDeadlockTimeout limits each of the following statements of a transaction to half of
// deadlock_timeout. If the transaction deadlocks with a reader, its statement is cancelled before
// PostgreSQL looks for deadlocks and may cancel the reader instead.
const limitToHalfDeadlockTimeout = `
	SELECT set_config('statement_timeout', (setting::integer / 2)::text, true)
	FROM pg_settings WHERE name = 'deadlock_timeout'`

// Serve points the views of a projection to a generation. It drops the views of the previous
// generation first, because a view cannot change the type of a column and tables may be added or
// removed. Readers wait for the end of the transaction and then see the new views.
//
// A reader and a switch deadlock if the reader uses one view and waits for a second one, while the
// switch has dropped the second view and waits for the first. The switch then gives up with an
// error of statement_timeout, and may be tried again.
func Serve(ctx context.Context, tx bun.Tx, projection string, before, generation int) error {
	if err := dropViews(ctx, tx, GenerationSchema(projection, before)); err != nil {
		return err
	}
	schema := GenerationSchema(projection, generation)
	tables, err := tablesOf(ctx, tx, schema)
	if err != nil {
		return err
	}
	for _, table := range tables {
		if _, err := tx.NewRaw("CREATE VIEW linkledger.?0 AS SELECT * FROM ?1.?0",
			bun.Ident(table), bun.Ident(schema)).Exec(ctx); err != nil {
			return fmt.Errorf("view of %s.%s: %w", schema, table, err)
		}
	}
	return nil
}

// dropViews drops the views of all tables of a schema. One statement drops them all, because the
// statement timeout applies to each statement. Most readers lock the tables in the same order, so
// they do not deadlock with the statement.
func dropViews(ctx context.Context, tx bun.Tx, schema string) error {
	tables, err := tablesOf(ctx, tx, schema)
	if err != nil || len(tables) == 0 {
		return err
	}
	views := make([]bun.Ident, len(tables))
	for i, table := range tables {
		views[i] = bun.Ident("linkledger." + table)
	}
	if _, err := tx.NewRaw(limitToHalfDeadlockTimeout).Exec(ctx); err != nil {
		return fmt.Errorf("views of %s: %w", schema, err)
	}
	if _, err := tx.NewRaw("DROP VIEW IF EXISTS ?", bun.List(views)).Exec(ctx); err != nil {
		return fmt.Errorf("views of %s, which readers may hold: %w", schema, err)
	}
	return nil
}

// DropGenerations removes the schemas of all generations of a projection.
func DropGenerations(ctx context.Context, tx bun.Tx, projection string) error {
	var schemas []bun.Ident
	if err := tx.NewRaw(
		"SELECT nspname FROM pg_namespace WHERE nspname ~ ?", "^"+projection+"_g[0-9]+$",
	).Scan(ctx, &schemas); err != nil {
		return fmt.Errorf("generations of %s: %w", projection, err)
	}
	for _, schema := range schemas {
		if _, err := tx.NewRaw("DROP SCHEMA ? CASCADE", schema).Exec(ctx); err != nil {
			return fmt.Errorf("drop the schema %s: %w", schema, err)
		}
	}
	return nil
}

// DropTables removes the schema of a generation.
func DropTables(ctx context.Context, tx bun.Tx, projection string, generation int) error {
	if _, err := tx.NewRaw(
		"DROP SCHEMA IF EXISTS ? CASCADE", bun.Ident(GenerationSchema(projection, generation)),
	).Exec(ctx); err != nil {
		return fmt.Errorf("drop generation %d of %s: %w", generation, projection, err)
	}
	return nil
}
