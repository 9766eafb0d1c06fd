// Package pages reads pages of streams for all callers over one connection.
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
)

// maxReads bounds the reads that are under way at a time. EventStoreDB takes 100 calls over one
// connection.
const maxReads = 64

// Pages reads pages of streams for all callers over one connection, which is replaced after the
// first sign of an outage.
type Pages struct {
	node    node.Node
	timeout time.Duration // of an attempt
	logger  *slog.Logger
	ctx     context.Context //nolint:containedctx // ends with close
	cancel  context.CancelFunc

	closing    sync.Once
	underWay   chan struct{}                   // holds a token per read
	connecting chan struct{}                   // holds one while somebody connects
	conn       atomic.Pointer[grpc.ClientConn] // nil: none yet, or lost
	// when a read was answered last, in nanoseconds since 1970
	answered atomic.Int64
}

// New returns reads from a node, each of whose attempts may take so long.
func New(node node.Node, timeout time.Duration, logger *slog.Logger) *Pages {
	ctx, cancel := context.WithCancel(context.Background())
	return &Pages{
		node: node, timeout: timeout, logger: logger, ctx: ctx, cancel: cancel,
		underWay: make(chan struct{}, maxReads), connecting: make(chan struct{}, 1),
	}
}

// Close ends all reads and waits for them.
func (r *Pages) Close() {
	r.closing.Do(func() {
		r.cancel()
		for range maxReads {
			r.underWay <- struct{}{} // never taken back: nothing is read after this
		}
		r.lose(r.conn.Load())
	})
}

// Closed is done when close was called.
func (r *Pages) Closed() context.Context { return r.ctx }

// Read reads one page, and again while the event store is unavailable, until ctx ends.
func (r *Pages) Read(
	ctx context.Context, wanted *streams.ReadReq_Options,
) ([]eventlog.Recorded, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()
	return node.Retry(
		ctx, r.logger, func() ([]eventlog.Recorded, error) { return r.Try(ctx, wanted) },
	)
}

// Try reads a page once. A read that is not answered in its time, while no other is answered
// either, has met a dead connection.
func (r *Pages) Try(
	ctx context.Context, wanted *streams.ReadReq_Options,
) ([]eventlog.Recorded, error) {
	select {
	case r.underWay <- struct{}{}:
		defer func() { <-r.underWay }()
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
			r.lose(conn)
		}
		err = r.ended(attempt)
	case code == codes.Unavailable, code == codes.NotFound:
		// the latter is a node that leads no more
		r.lose(conn)
	}
	return page, err
}

// ended says that a context has ended.
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
	if conn := r.conn.Load(); conn != nil { // somebody else was faster
		return conn, nil
	}
	conn, err := r.node.Connect(ctx)
	if err == nil {
		r.conn.Store(conn)
	}
	return conn, err
}

// lose closes a connection, and with it the reads that wait for it. Nil and a lost one are fine.
func (r *Pages) lose(conn *grpc.ClientConn) {
	if conn != nil && r.conn.CompareAndSwap(conn, nil) {
		_ = conn.Close() // it is open
	}
}

// readPage reads to the end. A stream that there is not is ErrNotFound.
func readPage(
	ctx context.Context, conn *grpc.ClientConn, wanted *streams.ReadReq_Options,
) ([]eventlog.Recorded, error) {
	reading, err := wire.Open(ctx, conn, wanted)
	if err != nil {
		return nil, err
	}
	var page []eventlog.Recorded
	missing := false
	for {
		received, err := reading.Next()
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
