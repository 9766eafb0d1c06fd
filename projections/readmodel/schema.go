package readmodel

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/migrate"
)

// Channel is the NOTIFY channel on which every committed batch is announced, as "<projection>
// <commit position>". Before that, where readers may keep copies, come the keys that the batch has
// changed: "<projection> changed <key> <key> ...", in as many notifications as they need. Keys of
// links are hashes, those of accounts are ids.
const Channel = "linkledger"

// Changed marks a notification that lists keys.
const Changed = "changed "

// Everything stands for all keys of a projection in a list of changed ones.
const Everything = "*"

// Unkept stands for changes of what nobody keeps copies of in such a list. Clicks are not even
// that.
const Unkept = "."

// ControlChannel is the NOTIFY channel that tells the projectors of all processes that an election
// may have another outcome now: then the payload is the name of the projection. "<projection>
// <position>" tells that somebody waits for it.
const ControlChannel = "linkledger_control"

// schemaLock is the key of the advisory lock of DB.Locked: the bytes of "linkledg".
const schemaLock int64 = 0x6c696e6b6c656467

//go:embed migrations/*.sql
var controlMigrations embed.FS

//go:embed *.sql
var projectionTables embed.FS

// GenerationSchema names the schema that holds one generation of a projection.
func GenerationSchema(projection string, generation int) string {
	return fmt.Sprintf("%s_g%d", projection, generation)
}

// Locked runs change while this process is the only one that changes schemas of the database. It
// waits for its turn as long as ctx allows.
func (db *DB) Locked(ctx context.Context, change func(context.Context) error) (err error) {
	cfg := db.Pool.Config().ConnConfig
	cfg.RuntimeParams["lock_timeout"] = "0"
	cfg.RuntimeParams["statement_timeout"] = "0"
	// A connection of its own: one of the pool could starve the change that waits for the others.
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return fmt.Errorf("lock the schemas: %w", err)
	}
	defer func() { err = errors.Join(err, closeConn(ctx, conn)) }() // and so unlocks
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", schemaLock); err != nil {
		return fmt.Errorf("lock the schemas: %w", err)
	}
	return change(ctx)
}

// Migrate brings the schema linkledger up to date. It must run within Locked.
func (db *DB) Migrate(ctx context.Context) error {
	migrations := migrate.NewMigrations()
	if err := migrations.Discover(controlMigrations); err != nil {
		return fmt.Errorf("migrate the control schema: %w", err)
	}
	if _, err := db.ExecContext(ctx, "CREATE SCHEMA IF NOT EXISTS linkledger"); err != nil {
		return fmt.Errorf("create the control schema: %w", err)
	}
	migrator := migrate.NewMigrator(db.DB, migrations,
		migrate.WithTableName("linkledger.migrations"),
		migrate.WithLocksTableName("linkledger.migration_locks"),
		migrate.WithMarkAppliedOnSuccess(true))
	if err := migrator.Init(ctx); err != nil {
		return fmt.Errorf("migrate the control schema: %w", err)
	}
	if _, err := migrator.Migrate(ctx); err != nil {
		return fmt.Errorf("migrate the control schema: %w", err)
	}
	return nil
}

// Shape is a fingerprint of the tables of a projection: another shape needs another generation.
// Comments and white space do not count.
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
	// the first one is that which a statement is about.
	sqlTable = regexp.MustCompile(`\?schema\.(\w+)`)
)

// statementsOf returns the SQL statements that make the tables of a projection and their indexes.
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

// CreateTables makes the schema of a generation with the empty tables of its projection.
func CreateTables(ctx context.Context, tx bun.Tx, projection string, generation int) error {
	return createTables(ctx, tx, projection, generation, func(string) bool { return false })
}

// CreateBareTables leaves out the indexes beside the primary keys, for tables that are filled in
// bulk: see Complete.
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

// tablesOf returns the tables of a schema in the order that they were made in.
func tablesOf(ctx context.Context, db bun.IDB, schema string) ([]string, error) {
	var tables []string
	if err := db.NewRaw(
		"SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(?) AND relkind = 'r' "+
			"ORDER BY oid",
		schema,
	).
		Scan(ctx, &tables); err != nil {
		return nil, fmt.Errorf("tables of %s: %w", schema, err)
	}
	return tables, nil
}

// limitToHalfDeadlockTimeout has PostgreSQL give up what follows in a transaction before it looks for deadlocks.
const limitToHalfDeadlockTimeout = `SELECT set_config('statement_timeout', (setting::integer / 2)::text, true) FROM pg_settings WHERE name = 'deadlock_timeout'`

// Serve points the views of a projection to a generation. A view can't change the type of a column,
// and tables come and go, so those of the generation before are dropped first; readers wait for the
// end of the transaction and then see the new ones. A reader that has one view and waits for
// another stands in the way of a switch that has this one and waits for that: it is the switch that
// gives up then, with an error of statement_timeout, and may be tried again.
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

// dropViews drops the views of all tables of a schema, in one statement, for which patience counts
// as a whole. Most readers ask for the tables in this order too, and do not stand in the way.
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

// DropTables removes the schema of a generation.
func DropTables(ctx context.Context, tx bun.Tx, projection string, generation int) error {
	if _, err := tx.NewRaw(
		"DROP SCHEMA IF EXISTS ? CASCADE", bun.Ident(GenerationSchema(projection, generation)),
	).Exec(ctx); err != nil {
		return fmt.Errorf("drop generation %d of %s: %w", generation, projection, err)
	}
	return nil
}
