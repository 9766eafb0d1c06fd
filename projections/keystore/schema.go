package keystore

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"linkledger/projections/keystore/keyfile"
	"linkledger/projections/keystore/signedin"
)

// ErrMissing means that the database has no schema linkledger_durable, or that the schema is empty
// or incomplete, such as after a load that has failed.
var ErrMissing = errors.New(
	"the database has no schema linkledger_durable, or one that is not complete",
)

// Keys are the stored keys of one database. They are safe for concurrent use.
type Keys struct {
	// Master wraps the keys of accounts; nil: none was given. It MUST be set before Keys are used.
	Master *keyfile.MasterKey

	*signedin.Store

	pool *pgxpool.Pool
	copy atomic.Pointer[keyfile.Copy] // nil until copyIn has looked for it
}

// New returns the keys in the database of a pool.
func New(pool *pgxpool.Pool) *Keys {
	k := &Keys{pool: pool}
	k.Store = signedin.New(signedin.Schema{
		Pool: pool, Explain: explain,
		Durably: func(ctx context.Context, tables []string, do func(pgx.Tx) error) error {
			return k.durably(ctx, change{tables: tables}, do)
		},
	})
	return k
}

var (
	//go:embed schema.sql
	tables string
	//go:embed adopt.sql
	adoption string
)

// Update brings the schema to the state of this version. If an earlier version kept the tables in
// another schema, Update moves them. It does not create a schema: see Create. No other process may
// change schemas meanwhile.
func (k *Keys) Update(ctx context.Context) error {
	if _, err := k.pool.Exec(ctx, adoption); err != nil {
		return fmt.Errorf("move the tables to the schema linkledger_durable: %w", err)
	}
	exist, err := k.haveTables(ctx)
	if err != nil || !exist {
		return err
	}
	return k.Create(ctx)
}

// haveTables reports whether the schema has the tables that every version has. Early versions lack
// the other tables.
func (k *Keys) haveTables(ctx context.Context) (have bool, err error) {
	const query = "SELECT to_regclass('linkledger_durable.account_keys') IS NOT NULL " +
		"AND to_regclass('linkledger_durable.secrets') IS NOT NULL"
	if err := k.pool.QueryRow(ctx, query).Scan(&have); err != nil {
		return false, fmt.Errorf("look for the keys: %w", err)
	}
	return have, nil
}

// Exist reports whether the database has the schema with its content. A service stores its first
// secrets before it serves. So a schema without a secret was never used, or a failed load has left
// it.
func (k *Keys) Exist(ctx context.Context) (exist bool, err error) {
	if have, err := k.haveTables(ctx); !have || err != nil {
		return false, err
	}
	const query = "SELECT EXISTS (SELECT FROM linkledger_durable.secrets)"
	if err := k.pool.QueryRow(ctx, query).Scan(&exist); err != nil {
		return false, fmt.Errorf("look for the keys: %w", err)
	}
	return exist, nil
}

// Create creates what the schema lacks. A log that was written with the keys of another database
// cannot be read with new ones. No other process may change schemas meanwhile.
func (k *Keys) Create(ctx context.Context) error {
	_, err := k.pool.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS linkledger_durable;"+tables)
	if err != nil {
		return fmt.Errorf("create the schema linkledger_durable: %w", err)
	}
	return nil
}

// explain replaces the error that a table does not exist with ErrMissing.
func explain(err error) error {
	const undefinedTable = "42P01"
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == undefinedTable {
		return ErrMissing
	}
	return err
}
