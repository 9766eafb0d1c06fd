// Package pages reads pages of events for all callers over one connection.
package pages

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"linkledger/events/eventstore/eventlog"
	"linkledger/events/eventstore/node"
	"linkledger/events/eventstore/wire"
	"linkledger/waiting"
)

// maxReads is the maximum number of concurrent reads. EventStoreDB accepts 100 calls per
// connection.
const maxReads = 64

// Pages reads pages of events for all callers over one connection, which it replaces after the
// first sign of an outage.
type Pages struct {
	node    node.Node
	timeout time.Duration // of one attempt
	store   *waiting.Dependency
	logger  *slog.Logger
	ctx     context.Context //nolint:containedctx // ends with Close
	cancel  context.CancelFunc

	closeOnce  sync.Once
	slots      chan struct{}                   // holds a token per read
	connecting chan struct{}                   // holds a token while a read connects
	conn       atomic.Pointer[grpc.ClientConn] // nil: none yet, or lost
	// answered is when a read last succeeded, in nanoseconds since 1970.
	answered atomic.Int64
}

// New returns Pages of a node. timeout bounds each attempt of a read. store knows whether the event
// store answers.
func New(
	node node.Node, timeout time.Duration, store *waiting.Dependency, logger *slog.Logger,
) *Pages {
	ctx, cancel := context.WithCancel(context.Background())
	return &Pages{
		node: node, timeout: timeout, store: store, logger: logger, ctx: ctx, cancel: cancel,
		slots: make(chan struct{}, maxReads), connecting: make(chan struct{}, 1),
	}
}

// Close ends all reads and waits for them.
func (r *Pages) Close() {
	r.closeOnce.Do(func() {
		r.cancel()
		for range maxReads {
			r.slots <- struct{}{} // never released, so no read starts after this
		}
		r.discard(r.conn.Load())
	})
}

// Reset closes the connection in use, which ends the reads that use it.
func (r *Pages) Reset() { r.discard(r.conn.Load()) }

// Closed returns a context that ends when Close is called.
func (r *Pages) Closed() context.Context { return r.ctx }

// Read returns one page. While the event store is unavailable, it retries until ctx ends or the
// event store is lost.
func (r *Pages) Read(
	ctx context.Context, wanted *streams.ReadReq_Options,
) ([]eventlog.Recorded, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()
	return node.Retry(ctx, r.logger, r.store,
		func(ctx context.Context) ([]eventlog.Recorded, error) { return r.Try(ctx, wanted) },
	)
}

// Try makes one attempt to read a page. If the attempt times out and no read has succeeded since it
// began, the connection is dead, and Try discards it.
func (r *Pages) Try(
	ctx context.Context, wanted *streams.ReadReq_Options,
) ([]eventlog.Recorded, error) {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return nil, r.ended(ctx)
	}
	began := time.Now().UnixNano()
	attempt, cancel := context.WithTimeoutCause(ctx, r.timeout, eventlog.ErrNoAnswer)
	defer cancel()
	conn, err := r.connection(attempt)
	if err != nil {
		return nil, err
	}
	page, err := readPage(attempt, conn, wanted)
	switch code := status.Code(err); {
	case err == nil, errors.Is(err, eventlog.ErrNotFound):
		r.answered.Store(time.Now().UnixNano())
	case attempt.Err() != nil:
		if errors.Is(attempt.Err(), context.DeadlineExceeded) && r.answered.Load() < began {
			r.discard(conn)
		}
		err = r.ended(attempt)
	case code == codes.Unavailable, code == codes.NotFound:
		// NotFound means that the node is no longer the leader.
		r.discard(conn)
	}
	return page, err
}

// Date returns the time of the event store, as wire.ReadStream.Date does. It makes one attempt.
func (r *Pages) Date(ctx context.Context) (time.Time, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.timeout, eventlog.ErrNoAnswer)
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()
	conn, err := r.connection(ctx)
	if err != nil {
		return time.Time{}, err
	}
	stream, err := wire.Open(ctx, conn, wire.LastOfLog())
	if err != nil {
		return time.Time{}, err
	}
	return stream.Date()
}

// ended returns the error for a context that has ended.
func (r *Pages) ended(ctx context.Context) error {
	if r.ctx.Err() != nil {
		return eventlog.ErrClosed
	}
	return fmt.Errorf("%w: %w", eventlog.ErrUnavailable, context.Cause(ctx))
}

// connection returns the connection in use, or opens one.
func (r *Pages) connection(ctx context.Context) (*grpc.ClientConn, error) {
	if conn := r.conn.Load(); conn != nil {
		return conn, nil
	}
	select {
	case r.connecting <- struct{}{}:
		defer func() { <-r.connecting }()
	case <-ctx.Done():
		return nil, r.ended(ctx)
	}
	if conn := r.conn.Load(); conn != nil { // another read has connected in the meantime
		return conn, nil
	}
	conn, err := r.node.Connect(ctx)
	if err == nil {
		r.conn.Store(conn)
	}
	return conn, err
}

// discard closes a connection, which ends the reads that use it. It does nothing if conn is nil or
// was discarded before.
func (r *Pages) discard(conn *grpc.ClientConn) {
	if conn != nil && r.conn.CompareAndSwap(conn, nil) {
		_ = conn.Close() // fails only if closed before
	}
}

// readPage makes one read and returns its events. It returns ErrNotFound if the stream does not
// exist.
func readPage(
	ctx context.Context, conn *grpc.ClientConn, wanted *streams.ReadReq_Options,
) ([]eventlog.Recorded, error) {
	stream, err := wire.Open(ctx, conn, wanted)
	if err != nil {
		return nil, err
	}
	var page []eventlog.Recorded
	missing := false
	for {
		received, err := stream.Next()
		switch {
		case errors.Is(err, io.EOF) && missing:
			return nil, eventlog.ErrNotFound
		case errors.Is(err, io.EOF):
			return page, nil
		case err != nil:
			return nil, err
		case received.IsEvent:
			page = append(page, received.Event)
		}
		missing = missing || received.Missing
	}
}
