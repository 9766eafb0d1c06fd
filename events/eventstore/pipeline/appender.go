// Package pipeline sends the appends of all callers over one call.
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

// outgoing is how many appends may wait to be sent.
const outgoing = 256

// Pipeline sends the appends of all callers over one BatchAppend call, as the protocol's other
// official clients do: an append is then one message each way and not a call of its own.
type Pipeline struct {
	node    node.Node
	timeout time.Duration // of an attempt
	logger  *slog.Logger
	ctx     context.Context //nolint:containedctx // ends with close
	cancel  context.CancelFunc
	lines   sync.WaitGroup

	mu   sync.Mutex
	line *connection // the one in use; nil before the first append and after a failure
}

// New returns an appender to a node, each of whose attempts may take so long.
func New(node node.Node, timeout time.Duration, logger *slog.Logger) *Pipeline {
	ctx, cancel := context.WithCancel(context.Background())
	return &Pipeline{node: node, timeout: timeout, logger: logger, ctx: ctx, cancel: cancel}
}

// Close ends all appends and waits for them.
func (a *Pipeline) Close() {
	a.mu.Lock() // no line is opened after this
	a.cancel()
	a.mu.Unlock()
	a.lines.Wait()
}

// current returns the connection in use, or opens one.
func (a *Pipeline) current() (*connection, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ctx.Err() != nil {
		return nil, eventlog.ErrClosed
	}
	if a.line == nil || a.line.ctx.Err() != nil {
		ctx, broken := context.WithCancelCause(a.ctx)
		a.line = &connection{
			ctx: ctx, broken: broken, outgoing: make(chan *streams.BatchAppendReq, outgoing),
			waiting: make(map[uuid.UUID]chan<- *streams.BatchAppendResp),
		}
		a.lines.Add(1)
		go func(l *connection) {
			defer a.lines.Done()
			err := l.run(a)
			l.broken(err)
			a.logger.DebugContext(a.ctx, "connection for appends ended", slog.Any("error", err))
		}(a.line)
	}
	return a.line, nil
}

// Append tries one append once. An attempt that is not answered breaks the connection: it has met a
// dead connection.
func (a *Pipeline) Append(
	ctx context.Context, request *wire.BatchAppend,
) (*streams.BatchAppendResp_Success, error) {
	l, err := a.current()
	if err != nil {
		return nil, err
	}
	attempt, cancel := context.WithTimeoutCause(ctx, a.timeout, eventlog.ErrNoAnswer)
	defer cancel()
	answer, err := l.ask(attempt, request)
	if err != nil {
		if ctx.Err() == nil && attempt.Err() != nil {
			l.broken(eventlog.ErrNoAnswer)
		}
		return nil, err
	}
	return answer.GetSuccess(), refusal(answer)
}

// refusal is the error that an answer tells of, if it does.
func refusal(answer *streams.BatchAppendResp) error {
	failure := answer.GetError()
	if failure == nil {
		return nil
	}
	//nolint:gosec // codes are small; others fall to the default
	code := codes.Code(failure.GetCode())
	return fmt.Errorf("%w: %s", appendSentinel(code, failure.GetMessage()), failure.GetMessage())
}

// AppendInOrder tries appends once, sent one after the other without waiting. It returns how many
// of them, from the first one on, are stored; the outcome of those behind is unknown.
func (a *Pipeline) AppendInOrder(
	ctx context.Context, requests []*wire.BatchAppend,
) (stored int, err error) {
	l, err := a.current()
	if err != nil {
		return 0, err
	}
	attempt, cancel := context.WithTimeoutCause(ctx, a.timeout, eventlog.ErrNoAnswer)
	defer cancel()
	defer func() {
		if err != nil && attempt.Err() != nil && ctx.Err() == nil {
			l.broken(eventlog.ErrNoAnswer)
		}
	}()
	asked := make([]pending, 0, len(requests))
	for _, request := range requests {
		sent, err := l.send(attempt, request)
		defer sent.forget()
		if err != nil {
			return 0, err
		}
		asked = append(asked, sent)
	}
	for i, sent := range asked {
		answer, err := sent.answer(attempt)
		if err == nil {
			err = refusal(answer)
		}
		if err != nil {
			return i, err
		}
	}
	return len(requests), nil
}

// appendSentinel tells what the status of a refused append means.
func appendSentinel(code codes.Code, message string) error {
	switch code { //nolint:exhaustive // the rest is an unknown outcome
	case codes.AlreadyExists:
		return eventlog.ErrWrongRevision
	case codes.NotFound:
		return eventlog.ErrStreamDeleted
	case codes.PermissionDenied, codes.Unauthenticated:
		return eventlog.Denial(code)
	case codes.InvalidArgument:
		if message == "MaximumAppendSizeExceeded" {
			return eventlog.ErrTooLarge
		}
		return eventlog.ErrInvalid
	}
	return eventlog.ErrUnavailable
}

// connection is one BatchAppend call and whoever waits for its answers.
type connection struct {
	//nolint:containedctx // ends when the connection breaks; its cause says why
	ctx      context.Context
	broken   context.CancelCauseFunc
	outgoing chan *streams.BatchAppendReq

	mu      sync.Mutex
	waiting map[uuid.UUID]chan<- *streams.BatchAppendResp // by correlation id
}

// ask sends a request under an id of its own and waits for its answer.
func (l *connection) ask(
	ctx context.Context, request *wire.BatchAppend,
) (*streams.BatchAppendResp, error) {
	asked, err := l.send(ctx, request)
	defer asked.forget()
	if err != nil {
		return nil, err
	}
	return asked.answer(ctx)
}

// pending is a request that waits for its answer.
type pending struct {
	line     *connection
	id       uuid.UUID
	answered <-chan *streams.BatchAppendResp
}

// send sends a request under an id of its own. The caller forgets it when it is done.
func (l *connection) send(ctx context.Context, request *wire.BatchAppend) (pending, error) {
	answered := make(chan *streams.BatchAppendResp, 1)
	asked := pending{l, uuid.New(), answered}
	l.mu.Lock()
	l.waiting[asked.id] = answered
	l.mu.Unlock()
	select {
	case l.outgoing <- request.Message(asked.id):
		return asked, nil
	case <-l.ctx.Done():
		return asked, l.failure()
	case <-ctx.Done():
		return asked, fmt.Errorf("%w: %w", eventlog.ErrUnavailable, context.Cause(ctx))
	}
}

func (q pending) forget() {
	q.line.mu.Lock()
	delete(q.line.waiting, q.id)
	q.line.mu.Unlock()
}

func (q pending) answer(ctx context.Context) (*streams.BatchAppendResp, error) {
	select {
	case answer := <-q.answered:
		return answer, nil
	case <-q.line.ctx.Done():
		return nil, q.line.failure()
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", eventlog.ErrUnavailable, context.Cause(ctx))
	}
}

// failure says what the end of the connection means for whoever waits for an answer. But for wrong
// credentials, which no repetition will mend, the outcome is unknown.
func (l *connection) failure() error {
	cause := context.Cause(l.ctx)
	if eventlog.IsDenied(cause) {
		return fmt.Errorf("%w: %w", eventlog.Denial(status.Code(cause)), cause)
	}
	return fmt.Errorf("%w: %w", eventlog.ErrUnavailable, cause)
}

// run connects, sends and receives until the connection breaks, and says why it did.
func (l *connection) run(a *Pipeline) (err error) {
	conn, err := a.node.Connect(l.ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	call, err := streams.NewStreamsClient(conn).BatchAppend(l.ctx)
	if err != nil {
		return fmt.Errorf("open the call for appends: %w", err)
	}
	var sending sync.WaitGroup
	defer sending.Wait()
	sending.Go(func() { l.sendAll(call) })
	for {
		answer, err := call.Recv()
		if err != nil {
			l.broken(fmt.Errorf("call for appends: %w", err))
			return context.Cause(l.ctx)
		}
		l.deliver(answer)
	}
}

func (l *connection) sendAll(call streams.Streams_BatchAppendClient) {
	for {
		select {
		case request := <-l.outgoing:
			if call.Send(request) != nil {
				return // Recv tells why
			}
		case <-l.ctx.Done():
			return
		}
	}
}

func (l *connection) deliver(answer *streams.BatchAppendResp) {
	id := wire.IDOf(answer.GetCorrelationId())
	l.mu.Lock()
	defer l.mu.Unlock()
	if answered, ok := l.waiting[id]; ok {
		answered <- answer // has room
		delete(l.waiting, id)
	}
}
