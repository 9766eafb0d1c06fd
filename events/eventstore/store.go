package eventstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"strconv"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"

	"linkledger/events"
	"linkledger/events/codec"
	"linkledger/events/eventstore/logreader"
	"linkledger/events/eventstore/node"
	"linkledger/events/eventstore/pages"
	"linkledger/events/eventstore/pipeline"
	"linkledger/events/eventstore/wire"
	"linkledger/waiting"
)

// MaxAppendSize is the maximum size of one append in bytes: bodies, metadata and types. It leaves a
// margin below the default limit of the server, 1 MiB.
const MaxAppendSize = 1000 << 10

// Write is what one command appends to one stream, atomically.
type Write struct {
	Stream   string
	Expected Revision  // the revision at which the command decided
	Command  uuid.UUID // event ids derive from it, which makes a repeated append idempotent
	Metadata events.Metadata
	Events   []events.Event
}

// EventID returns the id of the event with an index among the events that a command appends to a
// stream.
func EventID(command uuid.UUID, stream string, index int) uuid.UUID {
	return uuid.NewSHA1(command, []byte(stream+"/"+strconv.Itoa(index)))
}

// Appended is the revision and position of the last event of an append.
type Appended struct {
	Revision Revision
	Position Position
}

// Config configures a Store.
type Config struct {
	URL string // such as esdb://host:2113?tls=false; may name a cluster
	// Dial connects to the only node of URL. If nil, the Store connects over the network.
	Dial func(context.Context) (net.Conn, error)
	// AttemptTimeout bounds one attempt of a call; 0 means 5 s. A longer attempt indicates a dead
	// connection (a firewall that drops packets, a stopped process), so the call is retried over a
	// new connection.
	AttemptTimeout time.Duration
	// OnCall is called after each append ("append"), each read of a stream ("read") and each read
	// of the end of the log ("head"), with the duration of all attempts and the error. It MUST NOT
	// block. It may be nil.
	OnCall func(call string, took time.Duration, err error)
	Tracer trace.Tracer // traces appends; nil: they are not traced
	Logger *slog.Logger // nil discards
}

// Store appends to and reads from an EventStoreDB. Its Reader reads the log of all streams. It is
// safe for concurrent use.
type Store struct {
	*logreader.Reader

	appender *pipeline.Pipeline
	bulk     *pipeline.Pipeline // of AppendJoined, over its own connection
	reads    *pages.Pages
	tries    *pages.Pages // of method try, over its own connection
	answers  *waiting.Dependency
	cfg      Config
	refusal  refusal
}

// Open parses the connection string, but does not connect. Calls connect, and retry until the event
// store is available or their contexts end.
func Open(cfg Config) (*Store, error) {
	config, err := node.ParseURL(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("event store connection string: %w", err)
	}
	if cfg.AttemptTimeout == 0 {
		cfg.AttemptTimeout = 5 * time.Second
	}
	if cfg.OnCall == nil {
		cfg.OnCall = func(string, time.Duration, error) {}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	leader := node.New(config, cfg.Dial)
	s := &Store{
		cfg:      cfg,
		appender: pipeline.New(leader, cfg.AttemptTimeout, cfg.Logger),
		bulk:     pipeline.New(leader, cfg.AttemptTimeout, cfg.Logger),
	}
	s.answers = waiting.NewDependency(waiting.DependencyConfig{
		What: "event store", Patience: cfg.AttemptTimeout, Try: s.try, End: s.reset,
		Logger: cfg.Logger,
	})
	s.reads = pages.New(leader, cfg.AttemptTimeout, s.answers, cfg.Logger)
	s.tries = pages.New(leader, cfg.AttemptTimeout, s.answers, cfg.Logger)
	s.Reader = logreader.New(logreader.Config{
		Node: leader, Pages: s.reads, Store: s.answers, AttemptTimeout: cfg.AttemptTimeout,
		OnHead: func(took time.Duration, err error) { cfg.OnCall("head", took, err) },
		Logger: cfg.Logger,
	})
	return s, nil
}

// Close ends all calls, waits for them, and closes the connections. Callers MUST end subscriptions
// first, by cancelling their contexts.
func (s *Store) Close() {
	s.appender.Close()
	s.bulk.Close()
	s.reads.Close()
	s.tries.Close()
}

// Watch checks until ctx ends whether the event store answers while calls wait. If the event store
// has not answered for Config.AttemptTimeout, calls fail at once until it answers again. Their
// error is an ErrUnavailable that is a waiting.LostError. Without Watch, calls wait until their
// contexts end.
func (s *Store) Watch(ctx context.Context) { s.answers.Run(ctx) }

// try returns an error if the event store does not answer.
func (s *Store) try(ctx context.Context) error {
	if _, err := s.tries.Try(ctx, wire.LastOfLog()); errors.Is(err, ErrUnavailable) {
		s.tries.Reset()
		return err
	}
	return nil
}

// reset ends all calls that wait.
func (s *Store) reset() {
	s.appender.Reset()
	s.bulk.Reset()
	s.reads.Reset()
}

// Append stores the events of one write and returns after they are durable. It returns
// ErrWrongRevision, ErrStreamDeleted, ErrTooLarge or ErrRefusesWrites. It returns ErrUnavailable if
// the context ended, or Watch lost the event store, before the outcome was known. It returns ErrCut
// if the stream was deleted and had events that the caller does not know. The new events are then
// stored after the deleted ones.
func (s *Store) Append(ctx context.Context, w Write) (Appended, error) {
	if s.cfg.Tracer != nil {
		return s.appendTraced(ctx, w)
	}
	return s.append(ctx, w)
}

func (s *Store) append(ctx context.Context, w Write) (Appended, error) {
	proposed, err := propose(w)
	if err != nil {
		return Appended{}, err
	}
	return s.send(ctx, s.appender, w, proposed)
}

// AppendJoined stores several writes of one stream as one atomic append. Each write MUST expect the
// revision after the previous one. It uses its own connection, so that bulk appends do not delay
// Append. It returns the errors of Append. If it returns ErrWrongRevision, the stream may already
// have some of the writes. The caller may then repeat them one by one or in parts, because repeated
// appends are idempotent.
func (s *Store) AppendJoined(ctx context.Context, writes []Write) (Appended, error) {
	var joined []*streams.BatchAppendReq_ProposedMessage
	for _, w := range writes {
		proposed, err := propose(w)
		if err != nil {
			return Appended{}, err
		}
		joined = append(joined, proposed...)
	}
	return s.send(ctx, s.bulk, writes[0], joined)
}

// send appends proposed events to the stream of a write at its expected revision.
func (s *Store) send(
	ctx context.Context, over *pipeline.Pipeline, w Write,
	proposed []*streams.BatchAppendReq_ProposedMessage,
) (Appended, error) {
	if size := appendSize(proposed); size > MaxAppendSize {
		return Appended{}, fmt.Errorf(
			"append to %s: %w: %d bytes, at most %d", w.Stream, ErrTooLarge, size, MaxAppendSize,
		)
	}
	began, before := time.Now(), s.refusal.last.Load()
	request := wire.NewBatchAppend(w.Stream, w.Expected, proposed)
	success, err := node.Retry(ctx, s.cfg.Logger, s.answers,
		func(ctx context.Context) (*streams.BatchAppendResp_Success, error) {
			return over.Append(ctx, request)
		},
	)
	s.cfg.OnCall("append", time.Since(began), err)
	s.refusal.note(before, err)
	if err != nil {
		return Appended{}, fmt.Errorf("append to %s: %w", w.Stream, err)
	}
	at := success.GetPosition()
	appended := Appended{
		Revision: w.Expected + Revision(len(proposed)),
		Position: Position{Commit: at.GetCommitPosition(), Prepare: at.GetPreparePosition()},
	}
	stored := Revision(min(success.GetCurrentRevision(), math.MaxInt64))
	if stored != appended.Revision { // happens only after a deletion
		return Appended{}, fmt.Errorf(
			"append to %s: %w: the last event is number %d and not %d", w.Stream, ErrCut, stored,
			appended.Revision,
		)
	}
	if appended.Position.Commit == 0 { // a repeated append may return no position
		if appended.Position, err = s.positionOf(ctx, w.Stream, appended.Revision); err != nil {
			return Appended{}, err
		}
	}
	return appended, nil
}

// AppendInOrder sends each append without waiting for the answer to the previous one, and resumes
// after an outage. It returns how many of the appends, counted from the first, are stored.
func (s *Store) AppendInOrder(
	ctx context.Context, requests []*wire.BatchAppend,
) (stored int, err error) {
	_, err = node.Retry(ctx, s.cfg.Logger, s.answers, func(
		ctx context.Context,
	) (struct{}, error) {
		more, err := s.appender.AppendInOrder(ctx, requests[stored:])
		stored += more
		return struct{}{}, err
	})
	return stored, err
}

// propose returns the events of a write in the form of the protocol.
func propose(w Write) ([]*streams.BatchAppendReq_ProposedMessage, error) {
	if w.Command == uuid.Nil {
		return nil, fmt.Errorf("append to %s: no command id", w.Stream)
	}
	metadata, err := codec.EncodePart("metadata", w.Metadata)
	if err != nil {
		return nil, fmt.Errorf("append to %s: %w", w.Stream, err)
	}
	proposed := make([]*streams.BatchAppendReq_ProposedMessage, len(w.Events))
	for i, e := range w.Events {
		body, err := codec.Encode(e)
		if err != nil {
			return nil, fmt.Errorf("append to %s: %w", w.Stream, err)
		}
		proposed[i] = wire.ProposedMessage(
			EventID(w.Command, w.Stream, i), e.EventType(), body, metadata,
		)
	}
	return proposed, nil
}

// appendSize returns the size of an append as the event store counts it.
func appendSize(proposed []*streams.BatchAppendReq_ProposedMessage) (bytes int) {
	for _, p := range proposed {
		bytes += len(p.GetData()) + len(p.GetCustomMetadata()) + 2*len(p.GetMetadata()["type"])
	}
	return bytes
}

func (s *Store) positionOf(
	ctx context.Context, stream string, revision Revision,
) (Position, error) {
	page, err := s.read(ctx, wire.EventsOf(stream, revision, 1))
	if err != nil {
		return Position{}, fmt.Errorf("position of event %d of %s: %w", revision, stream, err)
	}
	if len(page) == 0 {
		return Position{}, fmt.Errorf(
			"position of event %d of %s: %w", revision, stream, ErrNotFound,
		)
	}
	return page[0].Position, nil
}

// Date returns the time of the event store, to the second. It is zero if the event store does not
// report its time.
func (s *Store) Date(ctx context.Context) (time.Time, error) {
	date, err := s.reads.Date(ctx)
	if err != nil {
		return date, fmt.Errorf("time of the event store: %w", err)
	}
	return date, nil
}

// read reads one page of a stream and reports the call to Config.OnCall.
func (s *Store) read(ctx context.Context, wanted *streams.ReadReq_Options) ([]Recorded, error) {
	began := time.Now()
	page, err := s.reads.Read(ctx, wanted)
	s.cfg.OnCall("read", time.Since(began), err)
	return page, err
}
