package readmodel

import (
	"context"
	"embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/migrate"
)

// Channel is the NOTIFY channel on which every committed batch is announced, as "<projection> <commit position>". Before
// that, where readers may keep copies, come the keys that the batch has changed: "<projection> changed <key> <key> ...",
// in as many notifications as they need. Keys of links are hashes, those of accounts are ids.
const Channel = "linkledger"

// Changed marks a notification that lists keys.
const Changed = "changed "

// ControlChannel is the NOTIFY channel that tells the projectors of all processes that an election may have another
// outcome now. The payload is the name of the projection.
const ControlChannel = "linkledger_control"

// schemaLock is the key of the advisory lock of DB.Locked: the bytes of "linkledg".
const schemaLock int64 = 0x6c696e6b6c656467

//go:embed migrations/*.sql
var controlMigrations embed.FS

//go:embed links.sql tags.sql accounts.sql
var projectionTables embed.FS

// GenerationSchema names the schema that holds one generation of a projection.
func GenerationSchema(projection string, generation int) string {
	return fmt.Sprintf("%s_g%d", projection, generation)
}

// Locked runs change while this process is the only one that changes schemas of the database. It waits for its turn as
// long as ctx allows.
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

// CreateTables makes the schema of a generation with the empty tables of its projection.
func CreateTables(ctx context.Context, tx bun.Tx, projection string, generation int) error {
	tables, err := projectionTables.ReadFile(projection + ".sql")
	if err != nil {
		return fmt.Errorf("tables of %s: %w", projection, err)
	}
	schema := bun.Ident(GenerationSchema(projection, generation))
	if _, err := tx.NewRaw("CREATE SCHEMA ?", schema).Exec(ctx); err != nil {
		return fmt.Errorf("create the schema of %s: %w", projection, err)
	}
	if _, err := tx.NewRaw(string(tables), struct{ Schema bun.Ident }{schema}).Exec(ctx); err != nil {
		return fmt.Errorf("create the tables of %s: %w", projection, err)
	}
	return nil
}

// Serve points the views of a projection to a generation. A view can't change the type of a column, so those of the
// generation before are dropped first; readers wait for the end of the transaction and then see the new ones.
func Serve(ctx context.Context, tx bun.Tx, projection string, generation int) error {
	schema := GenerationSchema(projection, generation)
	var tables []string
	if err := tx.NewRaw("SELECT tablename FROM pg_tables WHERE schemaname = ? ORDER BY tablename", schema).
		Scan(ctx, &tables); err != nil {
		return fmt.Errorf("tables of %s: %w", schema, err)
	}
	for _, table := range tables {
		if _, err := tx.NewRaw("DROP VIEW IF EXISTS linkledger.?0; CREATE VIEW linkledger.?0 AS SELECT * FROM ?1.?0",
			bun.Ident(table), bun.Ident(schema)).Exec(ctx); err != nil {
			return fmt.Errorf("view of %s.%s: %w", schema, table, err)
		}
	}
	return nil
}
