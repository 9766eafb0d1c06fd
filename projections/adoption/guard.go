package adoption

// This file has the guard of a process. The guard accepts connections to the database that serves,
// and ends them when another database is adopted.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"linkledger/events"
	"linkledger/events/codec"
	"linkledger/events/eventstore"
	"linkledger/projections/connection"
)

const (
	// pollInterval is the pause between two looks at the log.
	pollInterval = 500 * time.Millisecond
	// logTimeout bounds one look at the log, and appendTimeout an adoption.
	logTimeout    = time.Second
	appendTimeout = 5 * time.Second
	// freshness is how old a look at the log may be if the guard is to decide about a connection by
	// that look.
	freshness = 2 * time.Second
	// attempts bounds how often an adoption is tried while other nodes are faster.
	attempts = 5
)

// Stream is the stream of the adoptions.
const Stream = events.StreamDatabase + "serving"

// Config configures a Guard.
type Config struct {
	Store *eventstore.Store
	// Replace is the number of an adoption. An operator lets any database replace the database of
	// that adoption; 0: none.
	Replace int64
	Logger  *slog.Logger // nil discards
}

// Guard decides which connections a process accepts. It is safe for concurrent use.
//
// While the log does not answer, the guard decides by its last answer. If the log has never
// answered, the guard accepts any database, so that redirects go on. This is safe because nothing
// can be changed without the log.
type Guard struct {
	cfg     Config
	sockets *sockets

	deciding sync.Mutex // one adoption at a time

	mu       sync.Mutex // guards what follows
	serving  Serving
	known    bool      // the log has answered
	looked   time.Time // the end of the last look at the log, with an answer or without
	started  bool      // Start was called
	once     bool      // the log is not asked again
	replaces bool      // the next adoption may replace any database
}

// New returns a guard. It adopts no database before Start is called.
func New(cfg Config) *Guard {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Guard{cfg: cfg, sockets: newSockets()}
}

// Now returns a guard that decides by what the log says now. It adopts nothing, and is for a
// command that ends soon. If the log does not answer, it accepts any database.
func Now(ctx context.Context, store *eventstore.Store) *Guard {
	g := New(Config{Store: store})
	_ = g.lookAtLog(ctx) // it fails in an outage, see Guard
	g.once = true
	return g
}

// Watch makes a configuration accept only connections that the guard accepts. If the configuration
// names several hosts, pgx tries the next host after a refusal.
func (g *Guard) Watch(cfg *pgx.ConnConfig) {
	dial, validate := cfg.DialFunc, cfg.ValidateConnect
	cfg.DialFunc = g.sockets.through(dial)
	cfg.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		var preferred error
		if validate != nil {
			preferred = validate(ctx, conn)
			_, other := preferred.(*pgconn.NotPreferredError) //nolint:errorlint // as pgx does
			if preferred != nil && !other {
				return preferred
			}
		}
		if err := g.accept(ctx, conn); err != nil {
			return err
		}
		return preferred
	}
}

// accept returns nil if the guard accepts a connection, or else the reason for the refusal.
func (g *Guard) accept(ctx context.Context, conn *pgconn.PgConn) error {
	found, err := look(ctx, conn)
	if err != nil {
		return err
	}
	if found.Standby {
		return fmt.Errorf(
			"%w: the server is a standby that has not been promoted", connection.ErrReadOnly,
		)
	}
	g.mu.Lock()
	fresh, started, ask := time.Since(g.looked) < freshness, g.started, !g.once
	g.mu.Unlock()
	if !fresh && ask {
		_ = g.lookAtLog(ctx) // it fails in an outage, see Guard
	}
	// A database without keys serves nothing. So the guard need not refuse it before Start: the
	// process creates the keys before Start, or ends.
	if !started && !found.Keys {
		g.sockets.label(conn.Conn(), found)
		return nil
	}
	verdict, serving, known := g.decide(found)
	// An old look at the log is enough to accept a connection, but not to refuse one or to adopt a
	// database.
	if known && verdict != Serve && fresh && ask {
		if g.lookAtLog(ctx) == nil {
			verdict, serving, known = g.decide(found)
		}
	}
	switch {
	case !known, verdict == Serve, verdict == Adopt && !started:
		g.sockets.label(conn.Conn(), found)
		return nil
	case verdict == Refuse:
		return refusal(serving, found)
	}
	return g.adopt(ctx, conn)
}

// decide returns what to do with a database, according to the last adoption in the log. known is
// false if the log has never answered.
func (g *Guard) decide(found Found) (verdict Verdict, serving Serving, known bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	replace := g.cfg.Replace
	if g.replaces {
		replace = g.serving.Number
	}
	verdict = Decide(g.serving, found, replace)
	if verdict == Serve {
		g.replaces = false
	}
	return verdict, g.serving, g.known
}

// adopt makes the database of a connection the one that serves, unless another database was adopted
// meanwhile.
//
// It writes the token into the database before it appends the event to the log. In the other order,
// two standbys that were promoted to the same timeline could not be told apart until one of them
// has the token.
func (g *Guard) adopt(ctx context.Context, conn *pgconn.PgConn) error {
	g.deciding.Lock()
	defer g.deciding.Unlock()
	ctx, cancel := context.WithTimeout(ctx, appendTimeout)
	defer cancel()
	for range attempts {
		if err := g.lookAtLog(ctx); err != nil {
			return notNow(err)
		}
		found, err := look(ctx, conn)
		if err != nil {
			return err
		}
		verdict, serving, _ := g.decide(found)
		switch {
		case verdict == Serve:
			g.sockets.label(conn.Conn(), found)
			return nil
		case verdict == Refuse:
			return refusal(serving, found)
		case !found.Prepared:
			return errors.New("the database has no table linkledger_durable.adoption: restart " +
				"the service, which creates the table")
		}
		token, err := give(ctx, conn, found, uuid.NewString(), serving.Token)
		if err != nil {
			return err
		}
		err = g.record(ctx, serving, found, token)
		if err != nil && !errors.Is(err, eventstore.ErrWrongRevision) {
			return notNow(err)
		}
	}
	return fmt.Errorf("%w: other databases were adopted at the same time", ErrOtherDatabase)
}

// notNow returns the error of an adoption that failed because of the log. It takes only the text of
// err, because pgx would leave out the text of a wrapped timeout.
func notNow(err error) error {
	return fmt.Errorf(
		"the database is a new one and waits to be adopted: %w", errors.New(err.Error()),
	)
}

// record appends the event of an adoption to the log. It fails with eventstore.ErrWrongRevision if
// last is no longer the last adoption.
func (g *Guard) record(ctx context.Context, last Serving, found Found, token string) error {
	command, err := uuid.Parse(token)
	if err != nil {
		return fmt.Errorf("token of the database: %w", err)
	}
	adopted := events.DatabaseAdopted{
		System: found.System, Database: found.Database, Timeline: found.Timeline, Token: token,
		Address: found.Address, At: time.Now().UTC(),
	}
	if _, err := g.cfg.Store.Append(ctx, eventstore.Write{
		Stream: Stream, Expected: eventstore.Revision(last.Number - 1), Command: command,
		Events: []events.Event{adopted},
	}); err != nil {
		return err
	}
	level := slog.LevelInfo
	if last.Number == 0 { // the first adoption replaces no database
		level = slog.LevelDebug
	}
	g.cfg.Logger.Log(ctx, level, "a database is adopted: it serves from now on, and no other one",
		slog.Int64("adoption", last.Number+1), slog.String("address", found.Address),
		slog.String("system", found.System), slog.Any("timeline", found.Timeline))
	return nil
}

// lookAtLog reads which database was adopted last.
func (g *Guard) lookAtLog(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	last, err := g.cfg.Store.Last(ctx, Stream)
	var serving Serving
	switch {
	case errors.Is(err, eventstore.ErrNotFound):
		err = nil
	case err == nil:
		serving, err = read(last)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.looked = time.Now()
	if err == nil && serving.Number >= g.serving.Number { // a slow look may end after a newer one
		g.serving, g.known = serving, true
	}
	return err
}

func read(last eventstore.Recorded) (Serving, error) {
	event, err := codec.Decode(last.Type, last.Data)
	if err != nil {
		return Serving{}, fmt.Errorf("adoption of a database: %w", err)
	}
	adopted, ok := event.(events.DatabaseAdopted)
	if !ok {
		return Serving{}, fmt.Errorf("the stream %s has an event of type %s", Stream, last.Type)
	}
	return Serving{DatabaseAdopted: adopted, Number: int64(last.Revision) + 1}, nil
}

// Start lets the guard adopt databases. Afterwards the caller MUST replace the existing
// connections. If replace is true, the next database may replace any adopted one, because the
// caller has just created the keys of that next database.
func (g *Guard) Start(replace bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.started, g.replaces = true, replace
}

// Run follows the log until ctx ends. When another database is adopted, Run calls changed, which
// MUST close idle connections. Then it ends the connections to other databases that are still open.
func (g *Guard) Run(ctx context.Context, changed func()) {
	for ctx.Err() == nil {
		if g.lookAtLog(ctx) == nil {
			g.mu.Lock()
			serving := g.serving
			g.mu.Unlock()
			if g.sockets.anyOf(serving) {
				changed()
				g.sockets.endOthers(serving)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(pollInterval):
		}
	}
}
