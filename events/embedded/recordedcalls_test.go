package embedded_test

import (
	"bytes"
	"context"
	"math"
	"strings"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/gossip"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/serverfeatures"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"

	"linkledger/events/embedded/record"
	"linkledger/events/embedded/request"
	"linkledger/events/embedded/servertest"
	"linkledger/events/embedded/wire"
)

// recordedCalls makes the calls whose responses were recorded from real servers, as far as their
// names and responses identify them.
type recordedCalls struct {
	t      *testing.T
	conn   *grpc.ClientConn
	client streams.StreamsClient
	silent bool   // no response is expected, so the wait is short
	at     uint64 // position of the first append
}

var none = &shared.Empty{}

func newRecordedCalls(t *testing.T, s *servertest.Server) *recordedCalls {
	t.Helper()
	conn, err := grpc.NewClient(s.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &recordedCalls{t: t, conn: conn, client: streams.NewStreamsClient(conn)}
}

func (c *recordedCalls) context() context.Context {
	if !c.silent {
		return servertest.Context(c.t)
	}
	ctx, cancel := context.WithTimeout(c.t.Context(), silence)
	c.t.Cleanup(cancel)
	return ctx
}

type (
	expectation = func(*streams.AppendReq_Options)
	change      = func(*streams.AppendReq_ProposedMessage)
)

func noStream(o *streams.AppendReq_Options) {
	o.ExpectedStreamRevision = &streams.AppendReq_Options_NoStream{NoStream: none}
}

func anyRevision(o *streams.AppendReq_Options) {
	o.ExpectedStreamRevision = &streams.AppendReq_Options_Any{Any: none}
}

func exists(o *streams.AppendReq_Options) {
	o.ExpectedStreamRevision = &streams.AppendReq_Options_StreamExists{StreamExists: none}
}

func atRevision(n uint64) expectation {
	return func(o *streams.AppendReq_Options) {
		o.ExpectedStreamRevision = &streams.AppendReq_Options_Revision{Revision: n}
	}
}

func stringID(text string) *shared.UUID {
	return &shared.UUID{Value: &shared.UUID_String_{String_: text}}
}

// idOf returns the id of the events with a name.
func idOf(name string) *shared.UUID {
	return stringID(uuid.NewSHA1(uuid.NameSpaceOID, []byte(name)).String())
}

// named returns events with the ids of these names.
func named(names ...string) []*streams.AppendReq_ProposedMessage {
	list := fresh(len(names))
	for i, name := range names {
		list[i].Id = idOf(name)
	}
	return list
}

func fresh(n int, changes ...change) []*streams.AppendReq_ProposedMessage {
	list := make([]*streams.AppendReq_ProposedMessage, n)
	for i := range list {
		list[i] = &streams.AppendReq_ProposedMessage{
			Id:       stringID(uuid.NewString()),
			Metadata: map[string]string{"type": "t", "content-type": record.ContentJSON}, Data: []byte(`{"a":1}`),
		}
		for _, f := range changes {
			f(list[i])
		}
	}
	return list
}

func sized(n int) change {
	return func(m *streams.AppendReq_ProposedMessage) { m.Data = bytes.Repeat([]byte("x"), n) }
}

func property(name, value string) change {
	return func(m *streams.AppendReq_ProposedMessage) { m.Metadata[name] = value }
}

func without(name string) change {
	return func(m *streams.AppendReq_ProposedMessage) { delete(m.Metadata, name) }
}

func withID(id *shared.UUID) change { return func(m *streams.AppendReq_ProposedMessage) { m.Id = id } }

func metadataJSON(text string) change {
	return func(m *streams.AppendReq_ProposedMessage) { m.Metadata["type"], m.Data = "$metadata", []byte(text) }
}

func (c *recordedCalls) append(
	stream string, expect expectation, list []*streams.AppendReq_ProposedMessage,
) *recording {
	options := &streams.AppendReq_Options{StreamIdentifier: wire.StreamIdentifier(stream)}
	expect(options)
	return c.appendWith(options, list)
}

func (c *recordedCalls) appendWith(
	options *streams.AppendReq_Options, list []*streams.AppendReq_ProposedMessage,
) *recording {
	c.t.Helper()
	call, err := c.client.Append(c.context())
	if err != nil {
		c.t.Fatal(err)
	}
	if options != nil {
		_ = call.Send(&streams.AppendReq{Content: &streams.AppendReq_Options_{Options: options}}) // the response has the error
	}
	for _, m := range list {
		_ = call.Send(&streams.AppendReq{Content: &streams.AppendReq_ProposedMessage_{ProposedMessage: m}})
	}
	r := &recording{}
	answer, err := call.CloseAndRecv()
	if r.err = err; err != nil {
		r.trailer = call.Trailer()
		return r
	}
	if success := answer.GetSuccess(); c.at == 0 {
		c.at = success.GetPosition().GetCommitPosition()
	}
	r.add(c.t, answer)
	return r
}

type readOption = func(*streams.ReadReq_Options)

// read reads forwards from the start without a limit, unless changes set other options.
func (c *recordedCalls) read(changes ...readOption) *recording {
	c.t.Helper()
	options := &streams.ReadReq_Options{
		CountOption:  &streams.ReadReq_Options_Count{Count: 1000},
		FilterOption: &streams.ReadReq_Options_NoFilter{NoFilter: none},
		UuidOption: &streams.ReadReq_Options_UUIDOption{
			Content: &streams.ReadReq_Options_UUIDOption_String_{String_: none},
		},
	}
	for _, f := range changes {
		f(options)
	}
	call, err := c.client.Read(c.context(), &streams.ReadReq{Options: options})
	if err != nil {
		c.t.Fatal(err)
	}
	r := &recording{}
	r.receive(c.t, call)
	return r
}

func ofStream(name string, from any) readOption {
	options := &streams.ReadReq_Options_StreamOptions{StreamIdentifier: wire.StreamIdentifier(name)}
	switch from := from.(type) {
	case string:
		options.RevisionOption = &streams.ReadReq_Options_StreamOptions_Start{Start: none}
		if from == "end" {
			options.RevisionOption = &streams.ReadReq_Options_StreamOptions_End{End: none}
		}
	case uint64:
		options.RevisionOption = &streams.ReadReq_Options_StreamOptions_Revision{Revision: from}
	}
	return func(o *streams.ReadReq_Options) { o.StreamOption = &streams.ReadReq_Options_Stream{Stream: options} }
}

func ofLog(from string) readOption {
	options := &streams.ReadReq_Options_AllOptions{AllOption: &streams.ReadReq_Options_AllOptions_Start{Start: none}}
	if from == "end" {
		options.AllOption = &streams.ReadReq_Options_AllOptions_End{End: none}
	}
	return func(o *streams.ReadReq_Options) { o.StreamOption = &streams.ReadReq_Options_All{All: options} }
}

func ofLogAt(commit, prepare uint64) readOption {
	return func(o *streams.ReadReq_Options) {
		o.StreamOption = &streams.ReadReq_Options_All{All: &streams.ReadReq_Options_AllOptions{
			AllOption: &streams.ReadReq_Options_AllOptions_Position{
				Position: &streams.ReadReq_Options_Position{CommitPosition: commit, PreparePosition: prepare},
			},
		}}
	}
}

func backwards(o *streams.ReadReq_Options) { o.ReadDirection = streams.ReadReq_Options_Backwards }

func live(o *streams.ReadReq_Options) {
	o.CountOption = &streams.ReadReq_Options_Subscription{Subscription: &streams.ReadReq_Options_SubscriptionOptions{}}
}

func atMost(n uint64) readOption {
	return func(o *streams.ReadReq_Options) { o.CountOption = &streams.ReadReq_Options_Count{Count: n} }
}

func compatible(n uint32) readOption {
	return func(o *streams.ReadReq_Options) {
		o.ControlOption = &streams.ReadReq_Options_ControlOption{Compatibility: n}
	}
}

// byStream filters streams by a pattern, or by prefixes if the pattern is empty.
func byStream(pattern string, window int, multiplier uint32, prefixes ...string) readOption {
	return func(o *streams.ReadReq_Options) {
		f := &streams.ReadReq_Options_FilterOptions{
			Filter: &streams.ReadReq_Options_FilterOptions_StreamIdentifier{
				StreamIdentifier: &streams.ReadReq_Options_FilterOptions_Expression{Regex: pattern, Prefix: prefixes},
			},
			Window:                       &streams.ReadReq_Options_FilterOptions_Count{Count: none},
			CheckpointIntervalMultiplier: multiplier,
		}
		if window >= 0 {
			f.Window = &streams.ReadReq_Options_FilterOptions_Max{Max: uint32(window)}
		}
		o.FilterOption = &streams.ReadReq_Options_Filter{Filter: f}
	}
}

func byType(o *streams.ReadReq_Options) {
	f := o.GetFilter()
	f.Filter = &streams.ReadReq_Options_FilterOptions_EventType{EventType: f.GetStreamIdentifier()}
}

func (c *recordedCalls) delete(stream string, expect func(*streams.DeleteReq_Options)) *recording {
	options := &streams.DeleteReq_Options{StreamIdentifier: wire.StreamIdentifier(stream)}
	expect(options)
	r := &recording{}
	answer, err := c.client.Delete(c.context(), &streams.DeleteReq{Options: options}, grpc.Trailer(&r.trailer))
	if r.err = err; err == nil {
		r.add(c.t, answer)
	}
	return r
}

func (c *recordedCalls) tombstone(stream string, expect func(*streams.TombstoneReq_Options)) *recording {
	options := &streams.TombstoneReq_Options{StreamIdentifier: wire.StreamIdentifier(stream)}
	expect(options)
	r := &recording{}
	answer, err := c.client.Tombstone(c.context(), &streams.TombstoneReq{Options: options}, grpc.Trailer(&r.trailer))
	if r.err = err; err == nil {
		r.add(c.t, answer)
	}
	return r
}

// batch sends frames of one batch and receives a response.
func (c *recordedCalls) batch(frames ...*streams.BatchAppendReq) *recording {
	ctx, cancel := context.WithCancel(c.context())
	defer cancel()
	call, err := c.client.BatchAppend(ctx)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, frame := range frames {
		if err := call.Send(frame); err != nil {
			c.t.Fatal(err)
		}
	}
	r := &recording{}
	answer, err := call.Recv()
	if r.err = err; err == nil {
		r.add(c.t, answer)
	}
	return r
}

// wholeBatch returns a batch in one frame that expects any revision, and applies the changes to it.
func wholeBatch(stream string, n int, changes ...change) *streams.BatchAppendReq {
	f := &streams.BatchAppendReq{
		CorrelationId: stringID(uuid.NewString()),
		Options: &streams.BatchAppendReq_Options{
			StreamIdentifier:       wire.StreamIdentifier(stream),
			ExpectedStreamPosition: &streams.BatchAppendReq_Options_Any{Any: &emptypb.Empty{}},
			DeadlineOption: &streams.BatchAppendReq_Options_Deadline{
				Deadline: durationpb.New(request.BatchTimeout),
			},
		},
		IsFinal: true,
	}
	for _, m := range fresh(n, changes...) {
		f.ProposedMessages = append(f.ProposedMessages, &streams.BatchAppendReq_ProposedMessage{
			Id: m.GetId(), Metadata: m.GetMetadata(), Data: m.GetData(),
		})
	}
	return f
}

// other makes a call by its name, without a generated client.
func (c *recordedCalls) other(method string) *recording {
	r := &recording{}
	r.err = c.conn.Invoke(c.context(), "/event_store.client."+method, none, &shared.Empty{})
	return r
}

func (c *recordedCalls) features() *recording {
	r := &recording{}
	answer, err := serverfeatures.NewServerFeaturesClient(c.conn).GetSupportedMethods(c.context(), none)
	if r.err = err; err == nil {
		r.add(c.t, answer)
	}
	return r
}

func (c *recordedCalls) gossip() *recording {
	r := &recording{}
	answer, err := gossip.NewGossipClient(c.conn).Read(c.context(), none)
	if r.err = err; err == nil {
		r.add(c.t, answer)
	}
	return r
}

// longName is a stream name of the maximum length of this store.
var longName = strings.Repeat("n", request.MaxStreamName)

const past = uint64(math.MaxInt64) - 1
