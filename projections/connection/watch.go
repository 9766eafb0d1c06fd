package connection

// This file finds out whether the database answers. If the network drops the packets to the
// database, each call on an open connection waits until its time is over, and so does each attempt
// to connect.

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"linkledger/waiting"
)

const (
	// patience is how long calls wait for a database that does not answer. After that, all calls
	// that need the database are refused at once.
	patience = 3 * time.Second
	// hostTimeout bounds the attempt to connect to one of several hosts, so that the next host,
	// which may be the present primary, is tried soon. If the connection string sets a bound, that
	// bound is used instead.
	hostTimeout = 5 * time.Second
)

// Watch knows whether the database of a process answers. If it does not answer for some time, its
// connections are closed and new ones are refused until it answers again. Calls then fail with a
// waiting.LostError.
type Watch struct {
	answers *waiting.Dependency

	mu    sync.Mutex
	tries []*pgconn.Config   // one for each host
	ends  map[*socket]func() // each ends a connection that is open or being made
}

// NewWatch returns a Watch that watches no connections until Guard is called.
func NewWatch(logger *slog.Logger) *Watch {
	w := &Watch{ends: make(map[*socket]func())}
	w.answers = waiting.NewDependency(waiting.DependencyConfig{
		What: "database", Patience: patience, Try: w.try, End: w.end, Logger: logger,
	})
	return w
}

// Run watches until ctx ends.
func (w *Watch) Run(ctx context.Context) { w.answers.Run(ctx) }

// Guard makes w watch the connections of a configuration. It MUST be the first guard.
func (w *Watch) Guard(cfg *pgx.ConnConfig) {
	w.mu.Lock()
	w.tries = hosts(&cfg.Config)
	several := len(cfg.Fallbacks) > 0 && cfg.Fallbacks[len(cfg.Fallbacks)-1].Host != cfg.Host
	w.mu.Unlock()
	if several && cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = hostTimeout
	}
	cfg.DialFunc = w.through(cfg.DialFunc)
}

// hosts returns a configuration for each host of a configuration.
func hosts(cfg *pgconn.Config) []*pgconn.Config {
	first := cfg.Copy()
	first.Fallbacks = nil
	all := []*pgconn.Config{first}
	for _, fallback := range cfg.Fallbacks {
		next := first.Copy()
		next.Host, next.Port, next.TLSConfig = fallback.Host, fallback.Port, fallback.TLSConfig
		all = append(all, next)
	}
	return all
}

// through returns a function that connects with dial and makes w watch the connections.
func (w *Watch) through(dial pgconn.DialFunc) pgconn.DialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		s := &socket{watch: w}
		w.keep(s, cancel)
		if lost := w.answers.Lost(); lost != nil { // MUST follow keep, see end
			w.forget(s)
			return nil, lost
		}
		w.answers.Asked()
		conn, err := dial(ctx, network, address)
		if err != nil {
			w.forget(s)
			return nil, w.explain(err)
		}
		s.Conn = conn
		w.keep(s, func() { _ = conn.Close() }) // a waiting call sees the error
		if lost := w.answers.Lost(); lost != nil {
			return nil, errors.Join(lost, s.Close())
		}
		return s, nil
	}
}

func (w *Watch) keep(s *socket, end func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ends[s] = end
}

func (w *Watch) forget(s *socket) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.ends, s)
}

// end ends all connections. New ones are refused already.
func (w *Watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for s, end := range w.ends {
		end()
		delete(w.ends, s)
	}
}

// explain replaces the error of a call with the LostError if the database does not answer, because
// w has then ended the connection of the call. Otherwise it returns err.
func (w *Watch) explain(err error) error {
	if lost := w.answers.Lost(); err != nil && lost != nil {
		return lost
	}
	return err
}

// try asks all hosts at the same time. It returns an error if no host executes a query and at least
// one host does not answer. A refusal counts as an answer, because callers get it at once.
func (w *Watch) try(ctx context.Context) error {
	w.mu.Lock()
	tries := w.tries
	w.mu.Unlock()
	answers := make(chan error, len(tries))
	for _, host := range tries {
		go func() { answers <- ask(ctx, host) }()
	}
	var silent error
	for range tries {
		switch err := <-answers; {
		case err == nil:
			return nil
		case isSilent(ctx, err):
			silent = err
		}
	}
	return silent
}

func ask(ctx context.Context, host *pgconn.Config) (err error) {
	conn, err := pgconn.ConnectConfig(ctx, host)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }() // it is no longer used
	return conn.Exec(ctx, "SELECT 1").Close()
}

func isSilent(ctx context.Context, err error) bool {
	_, network := errors.AsType[net.Error](err)
	return ctx.Err() != nil || network || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF)
}

// socket is a connection that is watched.
type socket struct {
	net.Conn

	watch *Watch
}

// Read implements net.Conn.
func (s *socket) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	if n > 0 {
		s.watch.answers.Answered()
	}
	return n, s.watch.explain(err)
}

// Write implements net.Conn.
func (s *socket) Write(p []byte) (int, error) {
	s.watch.answers.Asked()
	n, err := s.Conn.Write(p)
	return n, s.watch.explain(err)
}

// Close implements net.Conn.
func (s *socket) Close() error {
	s.watch.forget(s)
	return s.Conn.Close()
}
