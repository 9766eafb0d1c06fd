package connection

// The pools of connections of a process.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// closeTimeout bounds the closing of a connection outside the pools.
	closeTimeout = 2 * time.Second
	// pingTimeout bounds the ping of a connection that has been idle for a second. A connection
	// that was lost without being closed does not answer, and is replaced.
	pingTimeout = 2 * time.Second
	// readerIdle is how long an idle connection of a reader is kept. It is short, because other
	// clients need the connection if PostgreSQL allows few. idleCheck is how often idle connections
	// are looked for.
	readerIdle = 10 * time.Second
	idleCheck  = 2 * time.Second
	// MaxPrepared is the maximum number of prepared statements of a projector's connection. It
	// suffices for a few generations.
	MaxPrepared = 100
)

// Guard changes how connections are made, such as which ones are accepted.
type Guard = func(*pgx.ConnConfig)

// OpenPools connects to a database with at most maxConns pooled connections, and returns when the
// database answers. A third of the connections, but at least one, is for writers, which are the
// projectors. The others, but at least one, are for readers, which are all other callers.
//
// A statement sets the settings of a new connection, because PgBouncer refuses most settings in the
// startup message. OpenPools fails with ErrShared if a pooler shares the connections.
//
// Each guard changes how the connections of the pools are made.
func OpenPools(
	ctx context.Context, dsn string, maxConns int, guards ...Guard,
) (readers, writers *pgxpool.Pool, err error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, nil, fmt.Errorf("database connection string: %w", redactDSNError(err))
	}
	if maxConns < 1 || maxConns > 1<<15 {
		return nil, nil, fmt.Errorf("open the database: %d connections are not possible", maxConns)
	}
	ofWriters := max(1, maxConns/3)
	cfg.MaxConns = int32(max(1, maxConns-ofWriters))
	// bun writes arguments as literals into its statements, so preparing them has no benefit. A
	// cache of them would keep a plan of every distinct statement. Only the statements of
	// readmodel.DB.Prepared are cached.
	cfg.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	cfg.ConnConfig.StatementCacheCapacity = MaxPrepared
	cfg.ConnConfig.DescriptionCacheCapacity = 0
	given := takeSettings(cfg.ConnConfig)
	if err := checkSessions(ctx, cfg.ConnConfig); err != nil {
		return nil, nil, fmt.Errorf("open the database: %w", err)
	}
	for _, guard := range guards {
		guard(cfg.ConnConfig)
	}
	Set(cfg.ConnConfig, sessionSettings)
	Set(cfg.ConnConfig, given)
	cfg.PingTimeout = pingTimeout
	cfg.AfterConnect = ReadTimesAsUTC
	cfg.BeforeConnect = confirmStops

	forWriters := cfg.Copy()
	cfg.MaxConnIdleTime, cfg.HealthCheckPeriod = readerIdle, idleCheck
	readers, err = pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, nil, fmt.Errorf("open the database: %w", err)
	}
	if err := readers.Ping(ctx); err != nil {
		readers.Close()
		return nil, nil, fmt.Errorf("open the database: %w", err)
	}
	cfg = forWriters
	cfg.BeforeConnect = nil
	cfg.MaxConns = int32(ofWriters)
	if ofWriters > 1 { // the readers MUST NOT take all connections that PostgreSQL allows
		cfg.MinConns = 1
	}
	cfg.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheStatement
	cfg.ConnConfig.StatementCacheCapacity = MaxPrepared
	Set(cfg.ConnConfig, writerSettings)
	writers, err = pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		readers.Close()
		return nil, nil, fmt.Errorf("open the database: %w", err)
	}
	return readers, writers, nil
}

var errDSN = errors.New("it is not valid, and not shown, because it may contain a password: " +
	"write it as postgres://USER:PASSWORD@HOST/DATABASE?sslmode=verify-full; in the password, " +
	"write each character that is neither a letter nor a digit as %XX")

// redactDSNError removes the quoted connection string from an error, because it may contain the
// password.
func redactDSNError(err error) error {
	if file, ok := errors.AsType[*fs.PathError](err); ok { // such as a missing certificate
		return file
	}
	return errDSN
}

// ReadTimesAsUTC makes a connection return times in UTC instead of the time zone of the machine.
func ReadTimesAsUTC(_ context.Context, conn *pgx.Conn) error {
	conn.TypeMap().RegisterType(&pgtype.Type{
		Name: "timestamptz", OID: pgtype.TimestamptzOID,
		Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
	})
	return nil
}

// Close closes a connection, even if ctx has ended. If a call on the connection was ended early,
// Close waits until the request to PostgreSQL to stop that call is done. PgBouncer 1.18 exits if
// such a request is cut off, for example by the end of this process.
func Close(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	err := conn.Close(ctx)
	select {
	case <-conn.PgConn().CleanupDone():
	case <-ctx.Done():
	}
	return err
}
