package eventstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/cenkalti/backoff/v5"
)

// attemptTimeout bounds one try of a call on one session. A try that takes longer has met a dead connection (a firewall
// that swallows packets, a stopped process), and the call goes on over a new one.
const attemptTimeout = 5 * time.Second

// supervisor keeps one connected client and replaces it when it dies.
type supervisor struct {
	url    string
	logger *slog.Logger
	stop   context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	current *esdb.Client  // nil while there is none
	changed chan struct{} // closed and replaced whenever current changes
}

func newSupervisor(url string, logger *slog.Logger) *supervisor {
	ctx, stop := context.WithCancel(context.Background())
	s := &supervisor{url: url, logger: logger, stop: stop, done: make(chan struct{}), changed: make(chan struct{})}
	go s.run(ctx)
	return s
}

// run connects, waits until the session is retired, and connects again, until it is stopped.
func (s *supervisor) run(ctx context.Context) {
	defer close(s.done)
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = 20*time.Millisecond, time.Second
	for ctx.Err() == nil {
		client, err := connect(ctx, s.url)
		if err != nil {
			delay := wait.NextBackOff()
			s.logger.DebugContext(ctx, "event store not reached, trying again",
				slog.Any("error", err), slog.Duration("in", delay))
			select {
			case <-ctx.Done():
			case <-time.After(delay):
			}
			continue
		}
		wait.Reset()
		s.publish(client)
		s.awaitRetirement(ctx, client)
		_ = client.Close() // never fails; ends the calls and subscriptions that still hang on the dead connection
	}
}

func (s *supervisor) publish(client *esdb.Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = client
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *supervisor) awaitRetirement(ctx context.Context, client *esdb.Client) {
	for {
		s.mu.Lock()
		current, changed := s.current, s.changed
		s.mu.Unlock()
		if current != client {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}

// session waits for a connected client, within the caller's context.
func (s *supervisor) session(ctx context.Context) (*esdb.Client, error) {
	for {
		s.mu.Lock()
		client, changed := s.current, s.changed
		s.mu.Unlock()
		if client != nil {
			return client, nil
		}
		select {
		case <-s.done:
			return nil, ErrClosed
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: not connected: %w", ErrUnavailable, ctx.Err())
		case <-changed:
		}
	}
}

// retire takes a client that has met a dead connection out of use. Further reports of the same client do nothing.
func (s *supervisor) retire(client *esdb.Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == client {
		s.current = nil
		close(s.changed)
		s.changed = make(chan struct{})
	}
}

func (s *supervisor) close() {
	s.stop()
	<-s.done
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = nil
}

// connect returns a client whose connection is established. A client that was never probed would run its discovery
// under the first caller, blocking all others whatever their contexts say.
func connect(ctx context.Context, url string) (*esdb.Client, error) {
	config, err := esdb.ParseConnectionString(url)
	if err != nil {
		return nil, err
	}
	config.MaxDiscoverAttempts = 1
	config.DiscoveryInterval = 1
	config.Logger = esdb.NoopLogging()
	client, err := esdb.NewClient(config)
	if err != nil {
		return nil, err
	}
	if _, err := guard(ctx, client, func(context.Context) (*esdb.ServerVersion, error) {
		return client.GetServerVersion()
	}); err != nil {
		_ = client.Close()
		return nil, err
	}
	return client, nil
}

// guard runs one operation of the client so that it ends with its context, and so that neither a hang nor a panic of
// the client reaches the caller: a client that is closed while callers wait inside panics with "send on closed channel".
func guard[T any](ctx context.Context, client *esdb.Client, op func(context.Context) (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	attempt, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	done := make(chan outcome, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- outcome{err: fmt.Errorf("%w: client panicked: %v", ErrUnavailable, p)}
			}
		}()
		value, err := op(attempt)
		done <- outcome{value, classify(err)}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-attempt.Done():
		var none T
		return none, fmt.Errorf("%w: no answer: %w", ErrUnavailable, attempt.Err())
	}
}

// call runs an operation on a live session, and again on the next one while the event store is unavailable, until the
// caller's context ends. The operation must be safe to repeat.
func call[T any](ctx context.Context, s *supervisor, op func(context.Context, *esdb.Client) (T, error)) (T, error) {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = 5*time.Millisecond, time.Second
	for {
		client, err := s.session(ctx)
		if err != nil {
			var none T
			return none, err
		}
		value, err := guard(ctx, client, func(ctx context.Context) (T, error) { return op(ctx, client) })
		if !errors.Is(err, ErrUnavailable) {
			return value, err
		}
		if ctx.Err() != nil {
			return value, err
		}
		s.retire(client)
		select {
		case <-ctx.Done():
			return value, err
		case <-time.After(wait.NextBackOff()):
		}
	}
}
