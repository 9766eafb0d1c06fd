package eventstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// maxReads bounds the reads that are under way at a time. EventStoreDB takes 100 calls over one connection.
const maxReads = 64

// reads reads pages of streams for all callers over one connection, which is replaced after the first sign of an outage.
type reads struct {
	node   node
	cfg    Config
	ctx    context.Context //nolint:containedctx // ends with close
	cancel context.CancelFunc

	closing    sync.Once
	underWay   chan struct{}                   // holds a token per read
	connecting chan struct{}                   // holds one while somebody connects
	conn       atomic.Pointer[grpc.ClientConn] // nil: none yet, or lost
	answered   atomic.Int64                    // when a read was answered last, in nanoseconds since 1970
}

func newReads(node node, cfg Config) *reads {
	ctx, cancel := context.WithCancel(context.Background())
	return &reads{
		node: node, cfg: cfg, ctx: ctx, cancel: cancel,
		underWay: make(chan struct{}, maxReads), connecting: make(chan struct{}, 1),
	}
}

// close ends all reads and waits for them.
func (r *reads) close() {
	r.closing.Do(func() {
		r.cancel()
		for range maxReads {
			r.underWay <- struct{}{} // never taken back: nothing is read after this
		}
		r.lose(r.conn.Load())
	})
}

// page reads one page, and again while the event store is unavailable, until ctx ends.
func (r *reads) page(ctx context.Context, wanted *streams.ReadReq_Options) ([]Recorded, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()
	return persist(ctx, r.cfg.Logger, func() ([]Recorded, error) { return r.try(ctx, wanted) })
}

// try reads a page once. A read that is not answered in its time, while no other is answered either, has met a dead
// connection.
func (r *reads) try(ctx context.Context, wanted *streams.ReadReq_Options) ([]Recorded, error) {
	select {
	case r.underWay <- struct{}{}:
		defer func() { <-r.underWay }()
	case <-ctx.Done():
		return nil, r.ended(ctx)
	}
	began := time.Now().UnixNano()
	attempt, cancel := context.WithTimeoutCause(ctx, r.cfg.AttemptTimeout, errNoAnswer)
	defer cancel()
	conn, err := r.connection(attempt)
	if err != nil {
		return nil, err
	}
	page, err := readPage(attempt, conn, wanted)
	switch code := status.Code(err); {
	case err == nil, errors.Is(err, ErrNotFound):
		r.answered.Store(time.Now().UnixNano())
	case attempt.Err() != nil:
		if errors.Is(attempt.Err(), context.DeadlineExceeded) && r.answered.Load() < began {
			r.lose(conn)
		}
		err = r.ended(attempt)
	case code == codes.Unavailable, code == codes.NotFound: // the latter is a node that leads no more
		r.lose(conn)
	}
	return page, err
}

// ended says that a context has ended.
func (r *reads) ended(ctx context.Context) error {
	if r.ctx.Err() != nil {
		return ErrClosed
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, context.Cause(ctx))
}

// connection returns the connection in use, or opens one.
func (r *reads) connection(ctx context.Context) (*grpc.ClientConn, error) {
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
	conn, err := r.node.connect(ctx)
	if err == nil {
		r.conn.Store(conn)
	}
	return conn, err
}

// lose closes a connection, and with it the reads that wait for it. Nil and a lost one are fine.
func (r *reads) lose(conn *grpc.ClientConn) {
	if conn != nil && r.conn.CompareAndSwap(conn, nil) {
		_ = conn.Close() // it is open
	}
}

// readPage reads to the end. A stream that there is not is ErrNotFound.
func readPage(ctx context.Context, conn *grpc.ClientConn, wanted *streams.ReadReq_Options) ([]Recorded, error) {
	reading, err := openReading(ctx, conn, wanted)
	if err != nil {
		return nil, err
	}
	var page []Recorded
	missing := false
	for {
		received, err := reading.next()
		switch {
		case errors.Is(err, io.EOF) && missing:
			return nil, ErrNotFound
		case errors.Is(err, io.EOF):
			return page, nil
		case err != nil:
			return nil, err
		case received.isEvent:
			page = append(page, received.event)
		}
		missing = missing || received.missing
	}
}

// eventsOf asks for so many events of a stream from a revision on.
func eventsOf(stream string, from Revision, count uint64) *streams.ReadReq_Options {
	return &streams.ReadReq_Options{
		StreamOption: &streams.ReadReq_Options_Stream{Stream: &streams.ReadReq_Options_StreamOptions{
			StreamIdentifier: &shared.StreamIdentifier{StreamName: []byte(stream)},
			RevisionOption:   &streams.ReadReq_Options_StreamOptions_Revision{Revision: uint64(from)}, //nolint:gosec // not negative
		}},
		CountOption: &streams.ReadReq_Options_Count{Count: count},
	}
}

// lastOf asks for the last event of a stream.
func lastOf(stream string) *streams.ReadReq_Options {
	return &streams.ReadReq_Options{
		StreamOption: &streams.ReadReq_Options_Stream{Stream: &streams.ReadReq_Options_StreamOptions{
			StreamIdentifier: &shared.StreamIdentifier{StreamName: []byte(stream)},
			RevisionOption:   &streams.ReadReq_Options_StreamOptions_End{End: &shared.Empty{}},
		}},
		ReadDirection: streams.ReadReq_Options_Backwards,
		CountOption:   &streams.ReadReq_Options_Count{Count: 1},
	}
}

// lastOfLog asks for the last event of all streams.
func lastOfLog() *streams.ReadReq_Options {
	return &streams.ReadReq_Options{
		StreamOption: &streams.ReadReq_Options_All{All: &streams.ReadReq_Options_AllOptions{
			AllOption: &streams.ReadReq_Options_AllOptions_End{End: &shared.Empty{}},
		}},
		ReadDirection: streams.ReadReq_Options_Backwards,
		CountOption:   &streams.ReadReq_Options_Count{Count: 1},
	}
}
