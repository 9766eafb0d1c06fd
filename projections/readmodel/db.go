package readmodel

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
)

// closeTimeout bounds the farewell to the server when a connection of its own is closed.
const closeTimeout = 2 * time.Second

// sessionSettings hold where the connection string does not say otherwise. A projector that stops in the middle of a
// transaction (a suspended machine) holds the lock on its checkpoint; the idle timeout frees it for the next one.
var sessionSettings = map[string]string{
	"application_name":                    "linkledger",
	"timezone":                            "UTC",
	"statement_timeout":                   "30s",
	"lock_timeout":                        "10s",
	"idle_in_transaction_session_timeout": "10s",
	"jit":                                 "off",
}

// DB is the PostgreSQL database of the read models. It is safe for concurrent use.
type DB struct {
	*bun.DB
	Pool *pgxpool.Pool // the connections that bun uses
}

// Open connects to the database with at most maxConns pooled connections and returns when it answers. The connections
// of Listen and Locked come on top of maxConns.
func Open(ctx context.Context, dsn string, maxConns int) (*DB, error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("database connection string: %w", err)
	}
	if maxConns < 1 || maxConns > 1<<15 {
		return nil, fmt.Errorf("open the database: %d connections are not possible", maxConns)
	}
	cfg.MaxConns = int32(maxConns)
	// bun writes arguments as literals into its statements, so there is nothing to prepare, and a statement cache would
	// keep a plan of every distinct statement ever sent.
	cfg.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	cfg.ConnConfig.StatementCacheCapacity = 0
	cfg.ConnConfig.DescriptionCacheCapacity = 0
	given := maps.Clone(cfg.ConnConfig.RuntimeParams)
	maps.Copy(cfg.ConnConfig.RuntimeParams, sessionSettings)
	maps.Copy(cfg.ConnConfig.RuntimeParams, given)
	cfg.AfterConnect = readTimesAsUTC

	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("open the database: %w", err)
	}
	return &DB{DB: bun.NewDB(stdlib.OpenDBFromPool(pool), pgdialect.New()), Pool: pool}, nil
}

// readTimesAsUTC keeps the zone of the machine out of what is read.
func readTimesAsUTC(_ context.Context, conn *pgx.Conn) error {
	conn.TypeMap().RegisterType(&pgtype.Type{
		Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
	})
	return nil
}

// Close waits for the connections that are in use and closes all of them.
func (db *DB) Close() error {
	err := db.DB.Close()
	db.Pool.Close()
	return err
}

// Listen returns a connection outside the pool that receives the notifications of the channel. The caller closes it.
func (db *DB) Listen(ctx context.Context, channel string) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, db.Pool.Config().ConnConfig)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", channel, err)
	}
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
		return nil, errors.Join(fmt.Errorf("listen on %s: %w", channel, err), closeConn(ctx, conn))
	}
	return conn, nil
}

// closeConn closes a connection also after ctx has ended.
func closeConn(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	return conn.Close(ctx)
}
