// Package keystoretest gives each test keys in a database of its own.
package keystoretest

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"linkledger/internal/pgserver/postgrestest"
	"linkledger/projections/keystore"
	"linkledger/projections/keystore/keyfile"
)

// Context returns a context that bounds the waits of a test.
func Context(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// Database has keys and the pool that they use.
type Database struct {
	*keystore.Keys
	Pool *pgxpool.Pool
}

// Open returns the keys of an empty database.
func Open(t testing.TB) *Database {
	t.Helper()
	pool, err := pgxpool.New(Context(t), postgrestest.NewDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return &Database{Keys: keystore.New(pool), Pool: pool}
}

// Create returns the keys of a database that has their schema.
func Create(t testing.TB) *Database {
	t.Helper()
	db := Open(t)
	if err := db.Create(Context(t)); err != nil {
		t.Fatal(err)
	}
	return db
}

// Exec executes a statement.
func (d *Database) Exec(t testing.TB, statement string, args ...any) {
	t.Helper()
	if _, err := d.Pool.Exec(Context(t), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// Scan returns the value that a query selects.
func Scan[T any](t testing.TB, d *Database, query string, args ...any) (value T) {
	t.Helper()
	if err := d.Pool.QueryRow(Context(t), query, args...).Scan(&value); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value
}

// MasterKey returns a master key whose bytes all are filler. If former is not nil, the key also
// unwraps what former has wrapped.
func MasterKey(t testing.TB, filler byte, former *keyfile.MasterKey) *keyfile.MasterKey {
	t.Helper()
	key, err := keyfile.NewMasterKey(bytes.Repeat([]byte{filler}, keyfile.MasterKeySize), former)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// WithSetting returns a pool of connections to the same database that have a setting.
func WithSetting(t testing.TB, d *Database, name, value string) *pgxpool.Pool {
	t.Helper()
	cfg := d.Pool.Config()
	cfg.ConnConfig.RuntimeParams[name] = value
	pool, err := pgxpool.NewWithConfig(Context(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}
