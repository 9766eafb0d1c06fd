package eventstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"
)

// serverTimeout is how long the event store may take over one append; real servers allow no more.
const serverTimeout = 2 * time.Second

// outgoing is how many appends may wait to be sent.
const outgoing = 256

// appender sends the appends of all callers over one BatchAppend call, as the protocol's other official clients do: an
// append is then one message each way and not a call of its own.
type appender struct {
	node   node
	cfg    Config
	ctx    context.Context //nolint:containedctx // ends with close
	cancel context.CancelFunc
	lines  sync.WaitGroup

	mu   sync.Mutex
	line *line // the one in use; nil before the first append and after a failure
}

func newAppender(node node, cfg Config) *appender {
	ctx, cancel := context.WithCancel(context.Background())
	return &appender{node: node, cfg: cfg, ctx: ctx, cancel: cancel}
}

func (a *appender) close() {
	a.mu.Lock() // no line is opened after this
	a.cancel()
	a.mu.Unlock()
	a.lines.Wait()
}

// current returns the line in use, or opens one.
func (a *appender) current() (*line, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ctx.Err() != nil {
		return nil, ErrClosed
	}
	if a.line == nil || a.line.ctx.Err() != nil {
		ctx, broken := context.WithCancelCause(a.ctx)
		a.line = &line{
			ctx: ctx, broken: broken, outgoing: make(chan *streams.BatchAppendReq, outgoing),
			waiting: make(map[uuid.UUID]chan<- *streams.BatchAppendResp),
		}
		a.lines.Add(1)
		go func(l *line) {
			defer a.lines.Done()
			err := l.run(a)
			l.broken(err)
			a.cfg.Logger.DebugContext(a.ctx, "connection for appends ended", slog.Any("error", err))
		}(a.line)
	}
	return a.line, nil
}

// append tries one append once. An attempt that is not answered breaks the line: it has met a dead connection.
func (a *appender) append(ctx context.Context, request *batchAppend) (*streams.BatchAppendResp_Success, error) {
	l, err := a.current()
	if err != nil {
		return nil, err
	}
	attempt, cancel := context.WithTimeoutCause(ctx, a.cfg.AttemptTimeout, errNoAnswer)
	defer cancel()
	answer, err := l.ask(attempt, request)
	if err != nil {
		if ctx.Err() == nil && attempt.Err() != nil {
			l.broken(errNoAnswer)
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
	code := codes.Code(failure.GetCode()) //nolint:gosec // codes are small; others fall to the default
	return fmt.Errorf("%w: %s", appendSentinel(code, failure.GetMessage()), failure.GetMessage())
}

// appendInOrder tries appends once, sent one after the other without waiting. It returns how many of them, from the first
// one on, are stored; the outcome of those behind is unknown.
func (a *appender) appendInOrder(ctx context.Context, requests []*batchAppend) (stored int, err error) {
	l, err := a.current()
	if err != nil {
		return 0, err
	}
	attempt, cancel := context.WithTimeoutCause(ctx, a.cfg.AttemptTimeout, errNoAnswer)
	defer cancel()
	defer func() {
		if err != nil && attempt.Err() != nil && ctx.Err() == nil {
			l.broken(errNoAnswer)
		}
	}()
	asked := make([]question, 0, len(requests))
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

var errNoAnswer = errors.New("no answer in time")

// appendSentinel tells what the status of a refused append means.
func appendSentinel(code codes.Code, message string) error {
	switch code { //nolint:exhaustive // the rest is an unknown outcome
	case codes.AlreadyExists:
		return ErrWrongRevision
	case codes.NotFound:
		return ErrStreamDeleted
	case codes.PermissionDenied, codes.Unauthenticated:
		return denial(code)
	case codes.InvalidArgument:
		if message == "MaximumAppendSizeExceeded" {
			return ErrTooLarge
		}
		return ErrInvalid
	}
	return ErrUnavailable
}

// line is one BatchAppend call and whoever waits for its answers.
type line struct {
	ctx      context.Context //nolint:containedctx // ends when the line breaks; its cause says why
	broken   context.CancelCauseFunc
	outgoing chan *streams.BatchAppendReq

	mu      sync.Mutex
	waiting map[uuid.UUID]chan<- *streams.BatchAppendResp // by correlation id
}

// ask sends a request under an id of its own and waits for its answer.
func (l *line) ask(ctx context.Context, request *batchAppend) (*streams.BatchAppendResp, error) {
	asked, err := l.send(ctx, request)
	defer asked.forget()
	if err != nil {
		return nil, err
	}
	return asked.answer(ctx)
}

// question is a request that waits for its answer.
type question struct {
	line     *line
	id       uuid.UUID
	answered <-chan *streams.BatchAppendResp
}

// send sends a request under an id of its own. The caller forgets it when it is done.
func (l *line) send(ctx context.Context, request *batchAppend) (question, error) {
	answered := make(chan *streams.BatchAppendResp, 1)
	asked := question{l, uuid.New(), answered}
	l.mu.Lock()
	l.waiting[asked.id] = answered
	l.mu.Unlock()
	select {
	case l.outgoing <- request.message(asked.id):
		return asked, nil
	case <-l.ctx.Done():
		return asked, l.failure()
	case <-ctx.Done():
		return asked, fmt.Errorf("%w: %w", ErrUnavailable, context.Cause(ctx))
	}
}

func (q question) forget() {
	q.line.mu.Lock()
	delete(q.line.waiting, q.id)
	q.line.mu.Unlock()
}

func (q question) answer(ctx context.Context) (*streams.BatchAppendResp, error) {
	select {
	case answer := <-q.answered:
		return answer, nil
	case <-q.line.ctx.Done():
		return nil, q.line.failure()
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, context.Cause(ctx))
	}
}

// failure says what the end of the line means for whoever waits for an answer. But for wrong credentials, which no
// repetition will mend, the outcome is unknown.
func (l *line) failure() error {
	cause := context.Cause(l.ctx)
	if isDenied(cause) {
		return fmt.Errorf("%w: %w", denial(status.Code(cause)), cause)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, cause)
}

// run connects, sends and receives until the line breaks, and says why it did.
func (l *line) run(a *appender) (err error) {
	conn, err := a.node.connect(l.ctx)
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

func (l *line) sendAll(call streams.Streams_BatchAppendClient) {
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

func (l *line) deliver(answer *streams.BatchAppendResp) {
	id := idOf(answer.GetCorrelationId())
	l.mu.Lock()
	defer l.mu.Unlock()
	if answered, ok := l.waiting[id]; ok {
		answered <- answer // has room
		delete(l.waiting, id)
	}
}

// batchAppend is what one write asks for. It may be sent several times, each time under another correlation id.
type batchAppend struct {
	options  *streams.BatchAppendReq_Options
	proposed []*streams.BatchAppendReq_ProposedMessage
}

func newBatchAppend(stream string, expected Revision, proposed []*streams.BatchAppendReq_ProposedMessage) *batchAppend {
	options := &streams.BatchAppendReq_Options{
		StreamIdentifier:       &shared.StreamIdentifier{StreamName: []byte(stream)},
		ExpectedStreamPosition: &streams.BatchAppendReq_Options_NoStream{NoStream: &emptypb.Empty{}},
		DeadlineOption:         &streams.BatchAppendReq_Options_Deadline{Deadline: durationpb.New(serverTimeout)},
	}
	if expected != NoStream {
		options.ExpectedStreamPosition = &streams.BatchAppendReq_Options_StreamPosition{
			StreamPosition: uint64(expected), //nolint:gosec // not negative
		}
	}
	return &batchAppend{options: options, proposed: proposed}
}

func (b *batchAppend) message(correlation uuid.UUID) *streams.BatchAppendReq {
	return &streams.BatchAppendReq{
		CorrelationId: wireID(correlation), Options: b.options, ProposedMessages: b.proposed, IsFinal: true,
	}
}

func wireID(id uuid.UUID) *shared.UUID {
	return &shared.UUID{Value: &shared.UUID_Structured_{Structured: &shared.UUID_Structured{
		MostSignificantBits:  int64(binary.BigEndian.Uint64(id[:8])), //nolint:gosec // the protocol's form of the same bits
		LeastSignificantBits: int64(binary.BigEndian.Uint64(id[8:])), //nolint:gosec // the protocol's form of the same bits
	}}}
}

func idOf(wire *shared.UUID) uuid.UUID {
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:8], uint64(wire.GetStructured().GetMostSignificantBits()))  //nolint:gosec // as wireID
	binary.BigEndian.PutUint64(id[8:], uint64(wire.GetStructured().GetLeastSignificantBits())) //nolint:gosec // as wireID
	return id
}
