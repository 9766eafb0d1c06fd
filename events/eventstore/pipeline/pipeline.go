// Package pipeline sends the appends of all callers over one gRPC call.
package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"linkledger/events/eventstore/eventlog"
	"linkledger/events/eventstore/node"
	"linkledger/events/eventstore/wire"
)

// sendQueue is how many appends may wait to be sent.
const sendQueue = 256

// Pipeline sends the appends of all callers over one BatchAppend call, as the official clients for
// other languages do. An append is then one message each way instead of a call of its own.
type Pipeline struct {
	node    node.Node
	timeout time.Duration // of one attempt
	logger  *slog.Logger
	ctx     context.Context //nolint:containedctx // ends with Close
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	stream *appendStream // in use; nil before the first append
}

// New returns a Pipeline to a node. timeout bounds each attempt.
func New(node node.Node, timeout time.Duration, logger *slog.Logger) *Pipeline {
	ctx, cancel := context.WithCancel(context.Background())
	return &Pipeline{node: node, timeout: timeout, logger: logger, ctx: ctx, cancel: cancel}
}

// Close ends all appends and waits for them.
func (p *Pipeline) Close() {
	p.mu.Lock() // no stream is opened after this
	p.cancel()
	p.mu.Unlock()
	p.running.Wait()
}

// Reset ends the call in use, and with it the appends that wait for an answer.
func (p *Pipeline) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stream != nil {
		p.stream.cancel(eventlog.ErrNoAnswer)
	}
}

// current returns the append stream in use, or opens one.
func (p *Pipeline) current() (*appendStream, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return nil, eventlog.ErrClosed
	}
	if p.stream == nil || p.stream.ctx.Err() != nil {
		ctx, cancel := context.WithCancelCause(p.ctx)
		p.stream = &appendStream{
			ctx: ctx, cancel: cancel, outgoing: make(chan *streams.BatchAppendReq, sendQueue),
			waiting: make(map[uuid.UUID]chan<- *streams.BatchAppendResp),
		}
		p.running.Add(1)
		go func(s *appendStream) {
			defer p.running.Done()
			err := s.run(p)
			s.cancel(err)
			p.logger.DebugContext(p.ctx, "append stream ended", slog.Any("error", err))
		}(p.stream)
	}
	return p.stream, nil
}

// Append makes one attempt of an append. If it receives no response in time, it ends the
// BatchAppend call, because the connection is probably dead.
func (p *Pipeline) Append(
	ctx context.Context, request *wire.BatchAppend,
) (*streams.BatchAppendResp_Success, error) {
	s, err := p.current()
	if err != nil {
		return nil, err
	}
	attempt, cancel := context.WithTimeoutCause(ctx, p.timeout, eventlog.ErrNoAnswer)
	defer cancel()
	response, err := s.call(attempt, request)
	if err != nil {
		if ctx.Err() == nil && attempt.Err() != nil {
			s.cancel(eventlog.ErrNoAnswer)
		}
		return nil, err
	}
	return response.GetSuccess(), responseError(response)
}

// responseError returns the error of a response, or nil if the append succeeded.
func responseError(response *streams.BatchAppendResp) error {
	failure := response.GetError()
	if failure == nil {
		return nil
	}
	//nolint:gosec // codes are small; others fall to the default
	code := codes.Code(failure.GetCode())
	return fmt.Errorf("%w: %s", appendSentinel(code, failure.GetMessage()), failure.GetMessage())
}

// AppendInOrder makes one attempt of several appends. It sends each append without waiting for the
// answer to the previous one. It returns how many of the appends, counted from the first, are
// stored. The outcome of the appends after these is unknown.
func (p *Pipeline) AppendInOrder(
	ctx context.Context, requests []*wire.BatchAppend,
) (stored int, err error) {
	s, err := p.current()
	if err != nil {
		return 0, err
	}
	attempt, cancel := context.WithTimeoutCause(ctx, p.timeout, eventlog.ErrNoAnswer)
	defer cancel()
	defer func() {
		if err != nil && attempt.Err() != nil && ctx.Err() == nil {
			s.cancel(eventlog.ErrNoAnswer)
		}
	}()
	pending := make([]pendingAppend, 0, len(requests))
	for _, request := range requests {
		sent, err := s.send(attempt, request)
		defer sent.forget()
		if err != nil {
			return 0, err
		}
		pending = append(pending, sent)
	}
	for i, sent := range pending {
		response, err := sent.wait(attempt)
		if err == nil {
			err = responseError(response)
		}
		if err != nil {
			return i, err
		}
	}
	return len(requests), nil
}

// appendSentinel returns the error class of a refused append.
func appendSentinel(code codes.Code, message string) error {
	switch code { //nolint:exhaustive // any other code means an unknown outcome
	case codes.AlreadyExists:
		return eventlog.ErrWrongRevision
	case codes.NotFound:
		return eventlog.ErrStreamDeleted
	case codes.PermissionDenied, codes.Unauthenticated:
		return eventlog.Denial(code)
	case codes.ResourceExhausted, codes.FailedPrecondition:
		return eventlog.ErrRefusesWrites
	case codes.InvalidArgument:
		if message == "MaximumAppendSizeExceeded" {
			return eventlog.ErrTooLarge
		}
		return eventlog.ErrInvalid
	}
	return eventlog.ErrUnavailable
}

// appendStream is one BatchAppend call and the appends that wait for its responses.
type appendStream struct {
	//nolint:containedctx // ends with the stream; its cause is the reason
	ctx      context.Context
	cancel   context.CancelCauseFunc
	outgoing chan *streams.BatchAppendReq

	mu      sync.Mutex
	waiting map[uuid.UUID]chan<- *streams.BatchAppendResp // by correlation id
}

// call sends a request under a new correlation id and waits for its response.
func (s *appendStream) call(
	ctx context.Context, request *wire.BatchAppend,
) (*streams.BatchAppendResp, error) {
	pending, err := s.send(ctx, request)
	defer pending.forget()
	if err != nil {
		return nil, err
	}
	return pending.wait(ctx)
}

// pendingAppend is a sent request without a response yet.
type pendingAppend struct {
	stream   *appendStream
	id       uuid.UUID
	response <-chan *streams.BatchAppendResp
}

// send sends a request under a new correlation id. The caller MUST call forget when it no longer
// waits, also after an error.
func (s *appendStream) send(ctx context.Context, request *wire.BatchAppend) (pendingAppend, error) {
	response := make(chan *streams.BatchAppendResp, 1)
	pending := pendingAppend{s, uuid.New(), response}
	s.mu.Lock()
	s.waiting[pending.id] = response
	s.mu.Unlock()
	select {
	case s.outgoing <- request.Message(pending.id):
		return pending, nil
	case <-s.ctx.Done():
		return pending, s.failure()
	case <-ctx.Done():
		return pending, fmt.Errorf("%w: %w", eventlog.ErrUnavailable, context.Cause(ctx))
	}
}

func (p pendingAppend) forget() {
	p.stream.mu.Lock()
	delete(p.stream.waiting, p.id)
	p.stream.mu.Unlock()
}

func (p pendingAppend) wait(ctx context.Context) (*streams.BatchAppendResp, error) {
	select {
	case response := <-p.response:
		return response, nil
	case <-p.stream.ctx.Done():
		return nil, p.stream.failure()
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", eventlog.ErrUnavailable, context.Cause(ctx))
	}
}

// failure returns the error for appends that waited when the BatchAppend call ended. Their outcome
// is unknown, unless the credentials were denied. Then failure returns a denial, because a retry is
// pointless.
func (s *appendStream) failure() error {
	cause := context.Cause(s.ctx)
	if eventlog.IsDenied(cause) {
		return fmt.Errorf("%w: %w", eventlog.Denial(status.Code(cause)), cause)
	}
	return fmt.Errorf("%w: %w", eventlog.ErrUnavailable, cause)
}

// run connects, sends and receives until the BatchAppend call breaks, and returns the reason.
func (s *appendStream) run(p *Pipeline) (err error) {
	conn, err := p.node.Connect(s.ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	call, err := streams.NewStreamsClient(conn).BatchAppend(s.ctx)
	if err != nil {
		return fmt.Errorf("open the call for appends: %w", err)
	}
	var sending sync.WaitGroup
	defer sending.Wait()
	sending.Go(func() { s.sendAll(call) })
	for {
		response, err := call.Recv()
		if err != nil {
			s.cancel(fmt.Errorf("call for appends: %w", err))
			return context.Cause(s.ctx)
		}
		s.deliver(response)
	}
}

func (s *appendStream) sendAll(call streams.Streams_BatchAppendClient) {
	for {
		select {
		case request := <-s.outgoing:
			if call.Send(request) != nil {
				return // Recv returns the reason
			}
		case <-s.ctx.Done():
			return
		}
	}
}

func (s *appendStream) deliver(response *streams.BatchAppendResp) {
	id := wire.IDOf(response.GetCorrelationId())
	s.mu.Lock()
	defer s.mu.Unlock()
	if waiter, ok := s.waiting[id]; ok {
		waiter <- response // has a buffer of one
		delete(s.waiting, id)
	}
}
