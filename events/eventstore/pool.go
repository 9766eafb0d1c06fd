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

// maxClients bounds the calls that are under way at a time, and with them the connections.
const maxClients = 64

// pool lends clients, each to one caller at a time. Shared, the client is not safe in an outage: its callers wait for
// one another whatever their contexts say, those that wait when it gives up wait for ever, and closing it under them is
// a race. A client that has one caller has none of these faults, and is simply closed after the first sign of an outage.
type pool struct {
	cfg    Config
	lent   chan struct{}   // holds a token per client that is lent
	ctx    context.Context //nolint:containedctx // ends with close
	cancel context.CancelFunc

	mu   sync.Mutex
	idle []*esdb.Client
}

func newPool(cfg Config) *pool {
	ctx, cancel := context.WithCancel(context.Background())
	return &pool{cfg: cfg, lent: make(chan struct{}, maxClients), ctx: ctx, cancel: cancel}
}

// close ends all calls, waits for them and closes the clients.
func (p *pool) close() {
	p.cancel()
	for range maxClients {
		p.lent <- struct{}{} // never released: nothing is lent any more
	}
	p.discardIdle()
}

// borrow returns a client for one caller. It may never have been connected.
func (p *pool) borrow(ctx context.Context) (*esdb.Client, error) {
	select {
	case p.lent <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: all %d connections are busy: %w", ErrUnavailable, maxClients, ctx.Err())
	case <-p.ctx.Done():
		return nil, ErrClosed
	}
	if p.ctx.Err() != nil {
		<-p.lent
		return nil, ErrClosed
	}
	if client := p.takeIdle(); client != nil {
		return client, nil
	}
	client, err := newClient(p.cfg.URL)
	if err != nil {
		<-p.lent
		return nil, err
	}
	return client, nil
}

func (p *pool) takeIdle() *esdb.Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	client := p.idle[len(p.idle)-1] // the last one used, so that a quiet pool keeps few connections busy
	p.idle = p.idle[:len(p.idle)-1]
	return client
}

// giveBack takes a client back from its caller. One that has met an outage is closed, and the idle ones with it: they
// are connected to the same dead server.
func (p *pool) giveBack(client *esdb.Client, healthy bool) {
	if healthy {
		p.mu.Lock()
		p.idle = append(p.idle, client)
		p.mu.Unlock()
	} else {
		_ = client.Close() // never fails
		p.discardIdle()
	}
	<-p.lent
}

func (p *pool) discardIdle() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, client := range p.idle {
		_ = client.Close() // never fails
	}
	p.idle = nil
}

func newClient(url string) (*esdb.Client, error) {
	config, err := esdb.ParseConnectionString(url)
	if err != nil {
		return nil, fmt.Errorf("event store connection string: %w", err)
	}
	config.MaxDiscoverAttempts = 1 // call tries again, with the caller's context in view
	config.DiscoveryInterval = 1
	config.Logger = esdb.NoopLogging()
	return esdb.NewClient(config)
}

// call runs an operation on a client, and again while the event store is unavailable, until the caller's context ends.
// The operation must be safe to repeat.
func call[T any](ctx context.Context, p *pool, op func(context.Context, *esdb.Client) (T, error)) (T, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	return persist(ctx, p.cfg.Logger, func() (T, error) { return try(ctx, p, op) })
}

// persist repeats an operation while the event store is unavailable, until ctx ends.
func persist[T any](ctx context.Context, logger *slog.Logger, op func() (T, error)) (T, error) {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = 5*time.Millisecond, time.Second
	for {
		value, err := op()
		if !errors.Is(err, ErrUnavailable) {
			return value, err
		}
		delay := wait.NextBackOff()
		logger.DebugContext(ctx, "event store unavailable, trying again", slog.Any("error", err), slog.Duration("in", delay))
		select {
		case <-ctx.Done():
			return value, err
		case <-time.After(delay):
		}
	}
}

// try runs an operation once. It returns with its context even where the client hangs; the client is then closed by
// whoever it comes back to.
func try[T any](ctx context.Context, p *pool, op func(context.Context, *esdb.Client) (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	var none T
	client, err := p.borrow(ctx)
	if err != nil {
		return none, err
	}
	ctx, cancel := context.WithTimeout(ctx, p.cfg.AttemptTimeout)
	done := make(chan outcome, 1)
	go func() {
		defer cancel()
		value, err := guarded(ctx, client, op)
		p.giveBack(client, !errors.Is(err, ErrUnavailable))
		done <- outcome{value, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
	}
	select {
	case o := <-done: // the operation ended too, and its cancel was seen first
		return o.value, o.err
	default:
		return none, fmt.Errorf("%w: no answer: %w", ErrUnavailable, ctx.Err())
	}
}

// guarded turns a panic of the client, which it raises over answers it does not expect, into an error.
func guarded[T any](ctx context.Context, client *esdb.Client, op func(context.Context, *esdb.Client) (T, error)) (value T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: unexpected answer: %v", ErrUnavailable, p)
		}
	}()
	value, err = op(ctx, client)
	return value, classify(err)
}
