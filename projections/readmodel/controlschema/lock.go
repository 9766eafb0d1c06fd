package controlschema

// The lock under which schemas are changed.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"linkledger/projections/connection"
	"linkledger/waiting"
)

const (
	// schemaLock is the key of the advisory lock of Schema.Locked: the bytes of "linkledg".
	schemaLock int64 = 0x6c696e6b6c656467
	// lockPoll is the pause between two attempts to take that lock.
	lockPoll = 50 * time.Millisecond
)

// lockSettings let a transaction be idle while it holds the lock, and let PostgreSQL notice within
// half a minute that the machine of the holder is gone.
var lockSettings = map[string]string{
	"lock_timeout":                        "0",
	"statement_timeout":                   "0",
	"idle_in_transaction_session_timeout": "0",
	"tcp_keepalives_idle":                 "10",
	"tcp_keepalives_interval":             "5",
	"tcp_keepalives_count":                "3",
}

// Locked calls change while no other process changes schemas of the database. It waits for the lock
// until ctx ends, and reports who holds it.
//
// The lock belongs to a transaction, because a pooler ends the transaction of a client that is
// gone. The pooler may keep the connection to PostgreSQL, and a lock of the connection would stay
// with it.
func (s *Schema) Locked(ctx context.Context, change func(context.Context) error) (err error) {
	cfg := s.pool.Config().ConnConfig
	connection.Set(cfg, lockSettings)
	// The lock has its own connection. If it used the pool, waiting calls could take all
	// connections that change needs.
	var conn *pgx.Conn
	defer func() {
		if conn != nil {
			err = errors.Join(err, connection.Close(ctx, conn))
		}
	}()
	if err := waiting.During(ctx, "lock of the schemas of the database", s.whyLocked,
		func(ctx context.Context) (err error) {
			if conn, err = pgx.ConnectConfig(ctx, cfg); err != nil {
				return err
			}
			return takeSchemaLock(ctx, conn)
		}); err != nil {
		return fmt.Errorf("lock the schemas: %w", err)
	}
	if err := waiting.During(
		ctx, "change of the schemas of the database", nil, change,
	); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "COMMIT"); err != nil {
		return fmt.Errorf("the lock of the schemas was lost while they were changed: %w", err)
	}
	return nil
}

// takeSchemaLock takes the lock in a transaction, which stays open. It asks again and again,
// because a statement that waits in PostgreSQL for the lock would get it even if this process has
// ended.
func takeSchemaLock(ctx context.Context, conn *pgx.Conn) error {
	for {
		tx, err := conn.Begin(ctx)
		if err != nil {
			return err
		}
		var taken bool
		if err := tx.QueryRow(
			ctx, "SELECT pg_try_advisory_xact_lock($1)", schemaLock,
		).Scan(&taken); err != nil || taken {
			return err
		}
		if err := tx.Rollback(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockPoll):
		}
	}
}

// whyLocked returns an error that names the holder of the lock of the schemas, or nil if the lock
// is free.
func (s *Schema) whyLocked(ctx context.Context) error {
	var holders []struct {
		PID         int       `bun:"pid"`
		Application string    `bun:"application"`
		Address     string    `bun:"address"`
		State       string    `bun:"state"`
		Since       time.Time `bun:"since"`
	}
	if err := s.db.NewRaw(`
		SELECT l.pid, coalesce(a.application_name, '') AS application,
			coalesce(host(a.client_addr), 'local') AS address, coalesce(a.state, '') AS state,
			coalesce(a.xact_start, a.state_change, a.backend_start) AS since
		FROM pg_locks AS l LEFT JOIN pg_stat_activity AS a ON a.pid = l.pid
		WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
			AND l.classid = (?0::bigint >> 32)::oid AND l.objid = (?0::bigint & 4294967295)::oid
			AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
		schemaLock).Scan(ctx, &holders); err != nil {
		return fmt.Errorf("look for the holder of the lock of the schemas: %w", err)
	}
	for _, h := range holders {
		return fmt.Errorf("process %d of PostgreSQL (application %q, address %s, %s) holds it "+
			"since %s: if its program is gone, end it with SELECT pg_terminate_backend(%d)",
			h.PID, h.Application, h.Address, h.State, h.Since.UTC().Format(time.RFC3339), h.PID)
	}
	return nil
}
