package servertest

import (
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"

	"linkledger/events/embedded/record"
	"linkledger/events/embedded/wire"
)

// Proposed returns an event whose data is its name, as the generated client sends it.
func Proposed(name string) *streams.AppendReq_ProposedMessage {
	return &streams.AppendReq_ProposedMessage{
		Id:       wire.UUID(Event(name).EventID, true),
		Metadata: map[string]string{"type": "test.happened.v1", "content-type": record.ContentBinary},
		Data:     []byte(name),
	}
}

// RawAppend sends the given messages, even if the official client would never send them.
func RawAppend(
	t testing.TB, raw streams.StreamsClient, reqs ...*streams.AppendReq,
) (*streams.AppendResp, error) {
	t.Helper()
	call, err := raw.Append(Context(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, req := range reqs {
		if err := call.Send(req); err != nil {
			t.Fatalf("the server answered before the end of the request: %v", err)
		}
	}
	return call.CloseAndRecv()
}

// OptionsReq returns the first message of an append to a stream. It expects any revision unless a
// change sets another one.
func OptionsReq(stream string, change ...func(*streams.AppendReq_Options)) *streams.AppendReq {
	opts := &streams.AppendReq_Options{
		StreamIdentifier:       wire.StreamIdentifier(stream),
		ExpectedStreamRevision: &streams.AppendReq_Options_Any{Any: &shared.Empty{}},
	}
	for _, f := range change {
		f(opts)
	}
	return &streams.AppendReq{Content: &streams.AppendReq_Options_{Options: opts}}
}

// EventReq returns a message of an append with an event.
func EventReq(m *streams.AppendReq_ProposedMessage) *streams.AppendReq {
	return &streams.AppendReq{Content: &streams.AppendReq_ProposedMessage_{ProposedMessage: m}}
}
