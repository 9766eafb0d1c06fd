package eventstore

import (
	"context"
	"encoding/json"
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
	"linkledger/events/eventstore/node"
	"linkledger/events/eventstore/pages"
	"linkledger/events/eventstore/pipeline"
	"linkledger/events/eventstore/wire"
)

// MaxAppendSize is the most bytes (bodies, metadata and types) that one append may carry. It leaves
// room below the server's default limit of 1 MiB.
const MaxAppendSize = 1000 << 10

// Write is what one command appends to one stream, whole or not at all.
type Write struct {
	Stream   string
	Expected Revision  // the revision the decision was made at
	Command  uuid.UUID // event ids derive from it, so a repeated append is recognised
	Metadata events.Metadata
	Events   []events.Event
}

// EventID is the id of the event with that index in what the command appends to the stream.
func EventID(command uuid.UUID, stream string, index int) uuid.UUID {
	return uuid.NewSHA1(command, []byte(stream+"/"+strconv.Itoa(index)))
}

// Appended tells where the last event of an append lies.
type Appended struct {
	Revision Revision
	Position Position
}

// Config of a Store.
type Config struct {
	URL string // esdb://host:2113?tls=false, or a cluster's
	// Dial connects to the one node that URL names without the network; nil: over the network.
	Dial func(context.Context) (net.Conn, error)
	// AttemptTimeout bounds one try of a call; 0 means 5 s. A try that takes longer has met a dead
	// connection (a firewall that swallows packets, a stopped process), and the call goes on over a
	// new one.
	AttemptTimeout time.Duration
	// OnCall learns of each append ("append") and each read of a stream ("read") or of the end of
	// the log ("head"): how long it took with all its tries, and its error. It must not block; may
	// be nil.
	OnCall func(call string, took time.Duration, err error)
	Tracer trace.Tracer // of appends; nil: they are not traced
	Logger *slog.Logger // nil discards
}

// Store appends to and reads from an EventStoreDB. It is safe for concurrent use.
type Store struct {
	node     node.Node
	appender *pipeline.Pipeline
	bulk     *pipeline.Pipeline // of AppendJoined, over a connection of its own
	reads    *pages.Pages
	cfg      Config
}

// Open checks the connection string. It does not connect: calls do, and wait for the event store
// within their contexts.
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
	node := node.New(config, cfg.Dial)
	return &Store{
		node: node, cfg: cfg,
		appender: pipeline.New(node, cfg.AttemptTimeout, cfg.Logger),
		bulk:     pipeline.New(node, cfg.AttemptTimeout, cfg.Logger),
		reads:    pages.New(node, cfg.AttemptTimeout, cfg.Logger),
	}, nil
}

// Close ends all calls, waits for them, and closes the connections. End subscriptions first, by
// their contexts.
func (s *Store) Close() {
	s.appender.Close()
	s.bulk.Close()
	s.reads.Close()
}

// Append stores the events of one write and returns when they are durable. Errors:
// ErrWrongRevision, ErrStreamDeleted, ErrTooLarge, and ErrUnavailable when the context ended before
// the outcome was known. ErrCut means that the stream had been deleted with events that the caller
// does not know of; the new events are stored behind them.
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

// AppendJoined stores writes of one stream, each of which expects the revision behind the one
// before, as one append: whole or not at all. It uses a connection of its own, so much of it does
// not hold up Append. Errors are those of Append; the stream may have some of the writes already
// where it is ErrWrongRevision, and repeating them one by one, or in parts, is recognised.
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

// send appends what is proposed to the stream of a write, at the revision that it expects.
func (s *Store) send(
	ctx context.Context, over *pipeline.Pipeline, w Write,
	proposed []*streams.BatchAppendReq_ProposedMessage,
) (Appended, error) {
	if size := appendSize(proposed); size > MaxAppendSize {
		return Appended{}, fmt.Errorf(
			"append to %s: %w: %d bytes, at most %d", w.Stream, ErrTooLarge, size, MaxAppendSize,
		)
	}
	began := time.Now()
	request := wire.NewBatchAppend(w.Stream, w.Expected, proposed)
	success, err := node.Retry(ctx, s.cfg.Logger, func() (*streams.BatchAppendResp_Success, error) {
		return over.Append(ctx, request)
	})
	s.cfg.OnCall("append", time.Since(began), err)
	if err != nil {
		return Appended{}, fmt.Errorf("append to %s: %w", w.Stream, err)
	}
	at := success.GetPosition()
	appended := Appended{
		Revision: w.Expected + Revision(len(proposed)),
		Position: Position{Commit: at.GetCommitPosition(), Prepare: at.GetPreparePosition()},
	}
	// only after a deletion
	if stored := Revision(
		min(success.GetCurrentRevision(), math.MaxInt64),
	); stored != appended.Revision {
		return Appended{}, fmt.Errorf(
			"append to %s: %w: the last event is number %d and not %d", w.Stream, ErrCut, stored,
			appended.Revision,
		)
	}
	if appended.Position.Commit == 0 { // a repeated append may be answered without its position
		if appended.Position, err = s.positionOf(ctx, w.Stream, appended.Revision); err != nil {
			return Appended{}, err
		}
	}
	return appended, nil
}

// AppendInOrder stores appends that are sent one after the other without waiting, and goes on with
// them after an outage. It returns how many of them, from the first one on, are stored.
func (s *Store) AppendInOrder(
	ctx context.Context, requests []*wire.BatchAppend,
) (stored int, err error) {
	_, err = node.Retry(ctx, s.cfg.Logger, func() (struct{}, error) {
		more, err := s.appender.AppendInOrder(ctx, requests[stored:])
		stored += more
		return struct{}{}, err
	})
	return stored, err
}

// propose returns the events of a write as the protocol has them.
func propose(w Write) ([]*streams.BatchAppendReq_ProposedMessage, error) {
	if w.Command == uuid.Nil {
		return nil, fmt.Errorf("append to %s: no command id", w.Stream)
	}
	metadata, err := json.Marshal(w.Metadata)
	if err != nil {
		return nil, fmt.Errorf("append to %s: %w", w.Stream, err)
	}
	proposed := make([]*streams.BatchAppendReq_ProposedMessage, len(w.Events))
	for i, e := range w.Events {
		body, err := events.Encode(e)
		if err != nil {
			return nil, fmt.Errorf("append to %s: %w", w.Stream, err)
		}
		proposed[i] = wire.ProposedMessage(
			EventID(w.Command, w.Stream, i), e.EventType(), body, metadata,
		)
	}
	return proposed, nil
}

// appendSize is what the event store counts of an append.
func appendSize(proposed []*streams.BatchAppendReq_ProposedMessage) (bytes int) {
	for _, p := range proposed {
		bytes += len(p.GetData()) + len(p.GetCustomMetadata()) + 2*len(p.GetMetadata()["type"])
	}
	return bytes
}

func (s *Store) positionOf(
	ctx context.Context, stream string, revision Revision,
) (Position, error) {
	page, err := s.read(ctx, "read", wire.EventsOf(stream, revision, 1))
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

// Head returns the position of the last event of the log.
func (s *Store) Head(ctx context.Context) (Position, error) {
	last, err := s.read(ctx, "head", wire.LastOfLog())
	if err != nil {
		return Position{}, fmt.Errorf("head of the log: %w", err)
	}
	if len(last) == 0 {
		return Position{}, nil
	}
	return last[0].Position, nil
}

// read reads one page, and tells Config.OnCall under a name.
func (s *Store) read(
	ctx context.Context, name string, wanted *streams.ReadReq_Options,
) ([]Recorded, error) {
	began := time.Now()
	page, err := s.reads.Read(ctx, wanted)
	s.cfg.OnCall(name, time.Since(began), err)
	return page, err
}
