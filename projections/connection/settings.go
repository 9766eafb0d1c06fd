package connection

// The settings of connections. They are set by a statement after a connection is made.

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// settingTimeout bounds the statement that sets the settings of a new connection. A pooler may make
// it wait for a connection to PostgreSQL.
const settingTimeout = 10 * time.Second

// sessionSettings apply unless the connection string sets others. A suspended projector may stop in
// a transaction that holds the lock on its checkpoint. idle_in_transaction_session_timeout then
// ends the transaction, so the next owner of the generation gets the lock.
var sessionSettings = map[string]string{
	"application_name":                    "linkledger",
	"client_encoding":                     "UTF8",
	"timezone":                            "UTC",
	"statement_timeout":                   "30s",
	"lock_timeout":                        "8s", // below the time of a request, see Overran
	"idle_in_transaction_session_timeout": "10s",
	"idle_session_timeout":                "0", // a connection that listens or holds a lock is idle
	"jit":                                 "off",
	// PostgreSQL notices within eleven seconds that a machine is gone, and ends the transaction
	// of its connection, with its locks.
	"tcp_keepalives_idle":     "5",
	"tcp_keepalives_interval": "2",
	"tcp_keepalives_count":    "3",
	"tcp_user_timeout":        "10s",
}

// writerSettings apply to the projectors' connections.
//
// Their transactions do not wait for the disk. A crash of the database, or its failover to a
// standby that lags, may undo the last transactions, but leaves no gap between the remaining ones.
// Each transaction also moves the checkpoint of its generation, so the projectors apply the events
// of the lost transactions again from the log. Readers see an older model only until then.
//
// Statements are prepared and planned once, often while the tables are still empty, so these
// settings force a plan that suits large tables.
//
// A suspended owner may hold the lock on its checkpoint within a batch. The next owner MUST NOT
// wait longer for that lock than for the lease, so idle_in_transaction_session_timeout is shorter
// than generation.DefaultLease.
var writerSettings = map[string]string{
	"synchronous_commit":                  "off",
	"plan_cache_mode":                     "force_generic_plan",
	"enable_seqscan":                      "off",
	"idle_in_transaction_session_timeout": "5s",
}

// startupOnly are the parameters of a connection string that are not settings. Only the startup
// message can have them.
var startupOnly = []string{"options", "replication"}

// takeSettings removes the settings from the startup message and returns them.
func takeSettings(cfg *pgx.ConnConfig) map[string]string {
	given := maps.Clone(cfg.RuntimeParams)
	for name := range given {
		if slices.Contains(startupOnly, name) {
			delete(given, name)
		} else {
			delete(cfg.RuntimeParams, name)
		}
	}
	return given
}

// Set applies settings to new connections of a configuration, after the settings of earlier calls.
func Set(cfg *pgx.ConnConfig, settings map[string]string) {
	if len(settings) == 0 {
		return
	}
	var calls []string
	var values [][]byte
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		calls = append(calls,
			fmt.Sprintf("set_config($%d, $%d, false)", len(values)+1, len(values)+2))
		values = append(values, []byte(name), []byte(settings[name]))
	}
	statement, earlier := "SELECT "+strings.Join(calls, ", "), cfg.AfterConnect
	cfg.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		if earlier != nil {
			if err := earlier(ctx, conn); err != nil {
				return err
			}
		}
		ctx, cancel := context.WithTimeout(ctx, settingTimeout)
		defer cancel()
		if err := conn.ExecParams(ctx, statement, values, nil, nil, nil).Read().Err; err != nil {
			return fmt.Errorf("settings of a connection: %w", explainPool(ctx, err))
		}
		return nil
	}
}

// explainPool adds the likely cause to an error if ctx has ended. A connection was then accepted
// but got no answer, probably because a pooler accepts more clients than it has connections to
// PostgreSQL. Otherwise explainPool returns err.
func explainPool(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	return fmt.Errorf("a new connection was accepted and got no answer: a pooler before "+
		"PostgreSQL may have too few connections (pool_size, max_db_connections): %w", err)
}
