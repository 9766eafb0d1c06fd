package connection

// This file finds out whether a pooler between this program and PostgreSQL shares connections
// between transactions.

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// ErrShared means that a pooler passes the transactions of one connection to several connections of
// PostgreSQL. Locks, notifications, settings and prepared statements would be lost or mixed up.
var ErrShared = errors.New("a pooler shares the connections to PostgreSQL between transactions, " +
	"but locks, notifications and prepared statements need connections of their own: set " +
	"pool_mode = session in PgBouncer for this database or user, or connect to PostgreSQL " +
	"directly")

// sharingRounds is how often checkSessions looks for a shared connection. If other clients use the
// pool, a single look may miss it.
const sharingRounds = 25

// session is a connection, with the identity of the server process that has answered it last.
type session struct {
	*pgconn.PgConn

	process string
}

const ownProcess = "SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()"

// askTries is how often ask asks for the server process. On a busy machine PgBouncer 1.18 answers
// now and then without a row.
const askTries = 5

// ask reads the server process that answers the connection now.
func (s *session) ask(ctx context.Context) error {
	for range askTries {
		result := s.ExecParams(ctx, ownProcess, nil, nil, nil, nil).Read()
		if result.Err != nil {
			return explainPool(ctx, result.Err)
		}
		if len(result.Rows) == 1 {
			s.process = string(result.Rows[0][0]) + " " + string(result.Rows[0][1])
			return nil
		}
	}
	return errors.New("PostgreSQL does not list the process of its own connection")
}

// pooled reports whether there is a pooler: the process that answers is not the one that accepted
// the connection. PostgreSQL gives the id of its process when it accepts a connection. A pooler
// gives a random id.
func (s *session) pooled() bool {
	pid, _, _ := strings.Cut(s.process, " ")
	return pid != strconv.FormatUint(uint64(s.PID()), 10)
}

// checkSessions returns ErrShared if a pooler shares connections between transactions. It changes
// no settings, because a setting would stay with a connection to PostgreSQL that another client
// uses next.
//
// PostgreSQL has one process for each connection. So sharing is certain in two cases: two open
// connections of this program are answered by the same process, or one connection changes its
// process. To provoke one of these cases, the second connection opens a transaction. If a pooler
// shares connections, the transaction takes the process that the first connection has used last, or
// another one that the first connection could have got.
func checkSessions(ctx context.Context, cfg *pgx.ConnConfig) (err error) {
	conn, err := pgconn.ConnectConfig(ctx, &cfg.Config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	first := &session{PgConn: conn}
	if err := first.ask(ctx); err != nil || !first.pooled() {
		return err
	}
	if conn, err = pgconn.ConnectConfig(ctx, &cfg.Config); err != nil {
		return fmt.Errorf("second connection of the pooler: %w", err)
	}
	second := &session{PgConn: conn}
	defer func() { err = errors.Join(err, second.Close(ctx)) }()
	for range sharingRounds {
		shared, err := sharedNow(ctx, first, second)
		if err != nil {
			return explainPool(ctx, err)
		}
		if shared {
			return ErrShared
		}
	}
	return nil
}

// sharedNow looks once for a sign that two connections share processes.
func sharedNow(ctx context.Context, first, second *session) (bool, error) {
	before := first.process
	if err := first.ask(ctx); err != nil || first.process != before {
		return err == nil, err
	}
	if _, err := second.Exec(ctx, "BEGIN").ReadAll(); err != nil {
		if strings.Contains(err.Error(), "statement pooling") {
			return true, nil
		}
		return false, err
	}
	if err := second.ask(ctx); err != nil || second.process == first.process {
		return err == nil, err
	}
	// The transaction of the second connection is still open.
	if err := first.ask(ctx); err != nil || first.process != before {
		return err == nil, err
	}
	_, err := second.Exec(ctx, "ROLLBACK").ReadAll()
	return false, err
}
