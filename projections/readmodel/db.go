package readmodel

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"linkledger/projections/connection"
	"linkledger/projections/keystore"
	"linkledger/projections/readmodel/controlschema"
)

//go:embed migrations/*.sql
var controlMigrations embed.FS

// DB is the PostgreSQL database of the read models. It is safe for concurrent use.
type DB struct {
	*bun.DB
	*controlschema.Schema

	Pool    *pgxpool.Pool // used by bun
	Writers *pgxpool.Pool // used by the projectors, with prepared statements

	// Keys has what the log cannot rebuild. Keys.Master MUST be set before DB is used.
	Keys *keystore.Keys
}

// Prepared runs a statement whose text is always the same. PostgreSQL plans it once for each
// connection.
func (db *DB) Prepared(ctx context.Context, statement string, args ...any) (pgx.Rows, error) {
	return db.Pool.Query(
		ctx, statement, append([]any{pgx.QueryExecModeCacheStatement}, args...)...,
	)
}

// Open connects to the database with at most maxConns pooled connections, as connection.OpenPools
// does. Listen and Locked use additional connections.
func Open(
	ctx context.Context, dsn string, maxConns int, guards ...connection.Guard,
) (*DB, error) {
	readers, writers, err := connection.OpenPools(ctx, dsn, maxConns, guards...)
	if err != nil {
		return nil, err
	}
	db := bun.NewDB(stdlib.OpenDBFromPool(readers), pgdialect.New())
	return &DB{
		DB: db, Schema: controlschema.New(db, readers, controlMigrations),
		Pool: readers, Writers: writers, Keys: keystore.New(readers),
	}, nil
}

// Time returns the time of the database.
func (db *DB) Time(ctx context.Context) (at time.Time, err error) {
	if err := db.NewRaw("SELECT clock_timestamp()").Scan(ctx, &at); err != nil {
		return at, fmt.Errorf("time of the database: %w", err)
	}
	return at, nil
}

// Reset replaces the connections of the pools: idle connections at once, the others after their
// use.
func (db *DB) Reset() {
	db.Pool.Reset()
	db.Writers.Reset()
}

// Close waits for the connections that are in use and closes all pools.
func (db *DB) Close() error {
	err := db.DB.Close()
	db.Pool.Close()
	db.Writers.Close()
	return err
}

// Listen returns a connection outside the pools that receives the notifications of the channel. The
// caller MUST close it.
func (db *DB) Listen(ctx context.Context, channel string) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, db.Pool.Config().ConnConfig)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", channel, err)
	}
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
		return nil, errors.Join(
			fmt.Errorf("listen on %s: %w", channel, err), connection.Close(ctx, conn),
		)
	}
	return conn, nil
}
