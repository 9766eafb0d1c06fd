package controlschema

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"linkledger/projections/connection"
)

// Vacant is an SQL condition on a row of the table generations: no process keeps the generation up
// to date. The lease of its owner has run out, or the owner no longer holds its presence lock.
//
// With a lease alone, it would take seconds to notice that an owner was killed. PostgreSQL releases
// the presence lock as soon as the owner's connection ends, and the kernel ends the connections of
// a killed process. The lease is still necessary for an owner that is suspended or cut off. The
// connection of such an owner lives, but the owner does not renew the lease.
//
// The view pg_locks shows the two keys of such a lock as classid and objid, and 2 as objsubid.
// PostgreSQL reads the view once for all rows, because the inner query does not refer to the rows.
const Vacant = `(lease_until < clock_timestamp() OR
	hashtext(owner)::bigint & 4294967295 <> ALL (ARRAY(
	SELECT objid::bigint FROM pg_locks
	WHERE locktype = 'advisory' AND classid = 27755 AND objsubid = 2 AND granted
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))))`

// presenceLock is the first key of all presence locks: the bytes of "lk". Vacant repeats it.
const presenceLock = 27755

// HoldPresence takes the presence lock of a process. The lock lasts until conn is closed or lost. A
// process MUST hold it before it owns a generation. The lock is shared: several connections of the
// process may hold it, so a new connection does not wait until PostgreSQL notices the end of the
// previous one.
func HoldPresence(ctx context.Context, conn *pgx.Conn, process string) error {
	_, err := conn.Exec(
		ctx, "SELECT pg_advisory_lock_shared($1::int, hashtext($2))", presenceLock, process,
	)
	if err != nil {
		return fmt.Errorf("take the presence lock of %s: %w", process, err)
	}
	return nil
}

// Present holds the presence lock of a process on a connection of its own until leave is called.
func (s *Schema) Present(ctx context.Context, process string) (leave func() error, err error) {
	conn, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
	if err != nil {
		return nil, fmt.Errorf("take the presence lock of %s: %w", process, err)
	}
	if err := HoldPresence(ctx, conn, process); err != nil {
		return nil, errors.Join(err, connection.Close(ctx, conn))
	}
	return func() error { return connection.Close(ctx, conn) }, nil
}
