package readmodel

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"linkledger/projections/connection"
)

// ScratchSchema is PostgreSQL's name for the schema of the temporary tables of a connection.
const ScratchSchema = "pg_temp"

// scratchSettings suit a connection that fills and compares tables for minutes. With
// client_connection_check_interval the server notices that the client is gone, also during a
// statement.
var scratchSettings = map[string]string{
	"statement_timeout":                   "0",
	"idle_in_transaction_session_timeout": "0",
	"client_connection_check_interval":    "1s",
	"work_mem":                            "64MB",
}

// OpenScratch returns a database of one connection outside the pools. ?schema has the empty tables
// of a projection, without indexes other than the primary keys. The tables are temporary:
// PostgreSQL removes them when the connection ends for any reason.
func (db *DB) OpenScratch(ctx context.Context, projection string) (*bun.DB, error) {
	statements, err := statementsOf(projection)
	if err != nil {
		return nil, err
	}
	cfg := db.Pool.Config().ConnConfig
	cfg.DefaultQueryExecMode = pgx.QueryExecModeCacheStatement
	cfg.StatementCacheCapacity = connection.MaxPrepared
	connection.Set(cfg, scratchSettings)
	cfg.AfterConnect = buffered(cfg.AfterConnect)
	sqlDB := stdlib.OpenDB(*cfg, stdlib.OptionAfterConnect(connection.ReadTimesAsUTC))
	scratch := bun.NewDB(sqlDB, pgdialect.New()).
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

// buffered returns a function that calls earlier, and then gives the connection more memory for
// temporary tables. PostgreSQL refuses that on a connection that has had temporary tables before,
// such as one that a pooler keeps. Such a connection works without the memory.
func buffered(earlier pgconn.AfterConnectFunc) pgconn.AfterConnectFunc {
	const invalidValue = "22023" // SQLSTATE
	return func(ctx context.Context, conn *pgconn.PgConn) error {
		if err := earlier(ctx, conn); err != nil {
			return err
		}
		_, err := conn.Exec(ctx, "SET temp_buffers = '128MB'").ReadAll()
		if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == invalidValue {
			return nil
		}
		return err
	}
}

// Table is a table with the columns of its primary key in SQL syntax.
type Table struct {
	Name string   `bun:"name"`
	Key  bun.Safe `bun:"key"`
}

// ScratchTables returns the tables of OpenScratch. The key of a table without a primary key is
// empty.
func ScratchTables(ctx context.Context, tx bun.Tx) ([]Table, error) {
	var tables []Table
	err := tx.NewRaw(`
		SELECT t.relname AS name,
			coalesce(string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum), '') AS key
		FROM pg_class AS t LEFT JOIN pg_index AS i ON i.indrelid = t.oid AND i.indisprimary
			LEFT JOIN pg_attribute AS a ON a.attrelid = t.oid AND a.attnum = ANY(i.indkey)
		WHERE t.relkind = 'r' AND t.relnamespace = pg_my_temp_schema()
		GROUP BY t.relname ORDER BY t.relname`).Scan(ctx, &tables)
	if err != nil {
		return nil, fmt.Errorf("temporary tables: %w", err)
	}
	return tables, nil
}
