package adoption

// The guard of a process: it accepts connections to the database that serves, and ends them when
// another one is adopted.

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
	// freshness is how old a look at the log may be for a connection to be decided by it.
	freshness = 2 * time.Second
	// attempts is how often an adoption begins anew after another node was faster.
	attempts = 5
)

// Stream is the stream of the adoptions.
const Stream = events.StreamDatabase + "serving"

// Config configures a Guard.
type Config struct {
	Store *eventstore.Store
	// Replace is the number of the adoption that an operator lets any database replace; 0: none.
	Replace int64
	Logger  *slog.Logger // nil discards
}

// Guard decides which connections a process accepts. It is safe for concurrent use.
//
// While the log does not answer, it decides by what the log has said last. If that is nothing, it
// accepts any database until the log answers: redirects go on, and nothing can be changed without
// the log.
type Guard struct {
	cfg     Config
	sockets *sockets

	deciding sync.Mutex // one adoption at a time

	mu       sync.Mutex // guards what follows
	serving  Serving
	known    bool      // the log has answered
	looked   time.Time // the end of the last look at the log, with an answer or without
	started  bool
	once     bool // the log is not asked again
	replaces bool // the next adoption may replace any database
}

// New returns a guard that adopts no database before Start.
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
	_ = g.lookAtLog(ctx) // an outage, see Guard
	g.once = true
	return g
}

// Watch makes a configuration accept only connections that the guard accepts. If it names several
// hosts, refused ones are passed over.
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

// accept returns why a connection is refused, or nil.
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
		_ = g.lookAtLog(ctx) // an outage, see Guard
	}
	if !started && !found.Keys { // without keys nothing is served: the start makes them or ends
		g.sockets.label(conn.Conn(), found)
		return nil
	}
	verdict, serving, known := g.decide(found)
	if known && verdict != Serve && fresh && ask { // never refuse or adopt by an old look
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

// decide returns what to do with a database, by the adoption that the log has had last. It is not
// known if the log has never answered.
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

// adopt makes the database of a connection the one that serves, unless another one has become it
// meanwhile.
//
// The token is written first. If the event were first, two standbys that were promoted to the same
// timeline could not be told apart until the token is in one of them.
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
			return errors.New("the database has no table linkledger_keys.adoption: restart the " +
				"service, which makes it")
		}
		token, err := give(ctx, conn, uuid.NewString(), serving.Token, found.Timeline)
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

// notNow returns the error of an adoption for which the log is missing. It does not wrap a timeout,
// whose text pgx leaves out.
func notNow(err error) error {
	return fmt.Errorf(
		"the database is a new one and waits to be adopted: %w", errors.New(err.Error()),
	)
}

// record appends the event of an adoption after the one that the log has had last.
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
	if last.Number == 0 { // the first one takes the place of no other
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
	if err == nil && serving.Number >= g.serving.Number { // else a slower look ends later
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

// Start lets the guard adopt databases. The caller then MUST replace the existing connections. With
// replace, the next database that the guard meets may replace any other one, because the caller has
// just made its keys.
func (g *Guard) Start(replace bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.started, g.replaces = true, replace
}

// Run follows the log until ctx ends. When another database is adopted, it calls changed, which
// MUST close idle connections, and ends the connections that are still open.
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
