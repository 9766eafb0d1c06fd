package readmodel

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
)

// ScratchSchema is PostgreSQL's name for the schema of the temporary tables of a connection.
const ScratchSchema = "pg_temp"

// scratchSettings of a connection that fills and compares tables for minutes. The server looks now
// and then whether the client still lives, also in the middle of a statement.
var scratchSettings = map[string]string{
	"statement_timeout":                   "0",
	"idle_in_transaction_session_timeout": "0",
	"client_connection_check_interval":    "1s",
	"temp_buffers":                        "128MB",
	"work_mem":                            "64MB",
}

// OpenScratch returns a database of one connection outside the pool, whose ?schema has the tables
// of a projection, empty and without indexes beside the primary keys. They are temporary: they go
// with the connection, however that ends.
func (db *DB) OpenScratch(ctx context.Context, projection string) (*bun.DB, error) {
	statements, err := statementsOf(projection)
	if err != nil {
		return nil, err
	}
	cfg := db.Pool.Config().ConnConfig
	cfg.DefaultQueryExecMode, cfg.StatementCacheCapacity = pgx.QueryExecModeCacheStatement, maxPrepared
	for name, value := range scratchSettings {
		cfg.RuntimeParams[name] = value
	}
	scratch := bun.NewDB(
		stdlib.OpenDB(*cfg, stdlib.OptionAfterConnect(readTimesAsUTC)), pgdialect.New(),
	).
		WithNamedArg("schema", bun.Ident(ScratchSchema))
	scratch.SetMaxOpenConns(1)
	for _, statement := range statements {
		if sqlIndex.MatchString(statement) {
			continue
		}
		if _, err := scratch.ExecContext(ctx, statement); err != nil {
			return nil, errors.Join(
				fmt.Errorf("create temporary tables of %s: %w", projection, err), scratch.Close(),
			)
		}
	}
	return scratch, nil
}

// Table is a table with the columns of its primary key, as SQL lists them.
type Table struct {
	Name string   `bun:"name"`
	Key  bun.Safe `bun:"key"`
}

// ScratchTables returns the tables of OpenScratch, also one without a primary key, which nobody can
// compare.
func ScratchTables(ctx context.Context, tx bun.Tx) ([]Table, error) {
	var tables []Table
	err := tx.NewRaw(`
		SELECT t.relname AS name, coalesce(string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum), '') AS key
		FROM pg_class AS t LEFT JOIN pg_index AS i ON i.indrelid = t.oid AND i.indisprimary
			LEFT JOIN pg_attribute AS a ON a.attrelid = t.oid AND a.attnum = ANY(i.indkey)
		WHERE t.relkind = 'r' AND t.relnamespace = pg_my_temp_schema()
		GROUP BY t.relname ORDER BY t.relname`).Scan(ctx, &tables)
	if err != nil {
		return nil, fmt.Errorf("temporary tables: %w", err)
	}
	return tables, nil
}
