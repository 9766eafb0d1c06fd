package readmodel

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"linkledger/projections/keystore"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
)

// closeTimeout bounds the closing of a connection outside the pools.
const closeTimeout = 2 * time.Second

// maxPrepared is the maximum number of prepared statements of a projector's connection. It suffices
// for a few generations.
const maxPrepared = 100

// DB is the PostgreSQL database of the read models. It is safe for concurrent use.
type DB struct {
	*bun.DB
	Pool    *pgxpool.Pool // used by bun
	Writers *pgxpool.Pool // used by the projectors, with prepared statements

	// Keys are what the log cannot rebuild. Keys.Master MUST be set before DB is used.
	Keys *keystore.Keys

	// Program is the version of the program, which Migrate notes in the database and in errors. It
	// MUST be set before Migrate is called.
	Program string
}

// Prepared runs a statement that is always the same but for its arguments. PostgreSQL plans it once
// for each connection.
func (db *DB) Prepared(ctx context.Context, statement string, args ...any) (pgx.Rows, error) {
	return db.Pool.Query(
		ctx, statement, append([]any{pgx.QueryExecModeCacheStatement}, args...)...,
	)
}

// Open connects to the database with at most maxConns pooled connections, and returns when it
// answers. A third of the connections, but at least one, is for projectors, and at least one is for
// the other callers. Listen and Locked use additional connections.
//
// Settings are set when a connection is made, and not by its startup message, because PgBouncer
// refuses most settings there. Open fails with ErrShared if a pooler shares the connections.
func Open(ctx context.Context, dsn string, maxConns int) (*DB, error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("database connection string: %w", redactDSNError(err))
	}
	if maxConns < 1 || maxConns > 1<<15 {
		return nil, fmt.Errorf("open the database: %d connections are not possible", maxConns)
	}
	writers := max(1, maxConns/3)
	cfg.MaxConns = int32(max(1, maxConns-writers))
	// bun writes arguments as literals into its statements, so preparing them has no benefit. A
	// cache of them would keep a plan of every distinct statement. The cache has only those of
	// Prepared.
	cfg.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	cfg.ConnConfig.StatementCacheCapacity = maxPrepared
	cfg.ConnConfig.DescriptionCacheCapacity = 0
	given := takeSettings(cfg.ConnConfig)
	if err := checkSessions(ctx, cfg.ConnConfig); err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	set(cfg.ConnConfig, sessionSettings)
	set(cfg.ConnConfig, given)
	cfg.AfterConnect = readTimesAsUTC
	cfg.BeforeConnect = confirmStops

	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("open the database: %w", err)
	}
	cfg = cfg.Copy()
	cfg.BeforeConnect = nil
	cfg.MaxConns = int32(writers)
	if writers > 1 { // the other callers of a service MUST NOT take all that PostgreSQL allows
		cfg.MinConns = 1
	}
	cfg.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheStatement
	cfg.ConnConfig.StatementCacheCapacity = maxPrepared
	set(cfg.ConnConfig, writerSettings)
	writing, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("open the database: %w", err)
	}
	return &DB{
		DB: bun.NewDB(stdlib.OpenDBFromPool(pool), pgdialect.New()), Pool: pool, Writers: writing,
		Keys: keystore.New(pool),
	}, nil
}

var errDSN = errors.New("it is not valid, and not shown, for it may hold a password: write it as " +
	"postgres://USER:PASSWORD@HOST/DATABASE?sslmode=verify-full, in the password as %XX what is " +
	"neither a letter nor a digit")

// redactDSNError removes the quoted connection string from an error, because it may contain the
// password.
func redactDSNError(err error) error {
	if file, ok := errors.AsType[*fs.PathError](err); ok { // such as a missing certificate
		return file
	}
	return errDSN
}

// readTimesAsUTC makes a connection return times in UTC instead of the time zone of the machine.
func readTimesAsUTC(_ context.Context, conn *pgx.Conn) error {
	conn.TypeMap().RegisterType(&pgtype.Type{
		Name: "timestamptz", OID: pgtype.TimestamptzOID,
		Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
	})
	return nil
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
		return nil, errors.Join(fmt.Errorf("listen on %s: %w", channel, err), closeConn(ctx, conn))
	}
	return conn, nil
}

// closeConn closes a connection, also after ctx has ended. If a call on the connection was ended,
// it waits for the request to PostgreSQL to stop the call: PgBouncer 1.18 ends when such a request
// is cut off, as by the end of this process.
func closeConn(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	err := conn.Close(ctx)
	select {
	case <-conn.PgConn().CleanupDone():
	case <-ctx.Done():
	}
	return err
}
