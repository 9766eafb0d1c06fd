package request

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"linkledger/events/embedded/failure"
	"linkledger/events/embedded/record"
	"linkledger/events/embedded/revision"
	"linkledger/events/embedded/wire"
)

func marshal(f *testing.F, message proto.Message) []byte {
	f.Helper()
	encoded, err := proto.Marshal(message)
	if err != nil {
		f.Fatal(err)
	}
	return encoded
}

// FuzzRead checks that every read is parsed within its limits or refused with a status.
func FuzzRead(f *testing.F) {
	empty := &shared.Empty{}
	stream := &streams.ReadReq_Options_Stream{Stream: &streams.ReadReq_Options_StreamOptions{
		StreamIdentifier: wire.StreamIdentifier("url-1"),
		RevisionOption:   &streams.ReadReq_Options_StreamOptions_Revision{Revision: math.MaxUint64},
	}}
	all := &streams.ReadReq_Options_All{All: &streams.ReadReq_Options_AllOptions{
		AllOption: &streams.ReadReq_Options_AllOptions_Position{
			Position: &streams.ReadReq_Options_Position{CommitPosition: 5, PreparePosition: 5},
		},
	}}
	filtered := &streams.ReadReq_Options_Filter{Filter: &streams.ReadReq_Options_FilterOptions{
		Filter: &streams.ReadReq_Options_FilterOptions_StreamIdentifier{
			StreamIdentifier: &streams.ReadReq_Options_FilterOptions_Expression{
				Prefix: []string{"url-", "tags-"}, Regex: "^url-",
			},
		},
		Window: &streams.ReadReq_Options_FilterOptions_Max{Max: 32}, CheckpointIntervalMultiplier: math.MaxUint32,
	}}
	count, subscription := &streams.ReadReq_Options_Count{Count: 1}, &streams.ReadReq_Options_Subscription{}
	unfiltered := &streams.ReadReq_Options_NoFilter{NoFilter: empty}
	for _, options := range []*streams.ReadReq_Options{
		{
			StreamOption: stream, CountOption: count, FilterOption: unfiltered,
			ReadDirection: streams.ReadReq_Options_Backwards,
		},
		{StreamOption: all, CountOption: subscription, FilterOption: filtered},
		{StreamOption: stream, CountOption: subscription, FilterOption: filtered},
		{},
	} {
		f.Add(marshal(f, &streams.ReadReq{Options: options}), "url-1")
	}
	f.Fuzz(func(t *testing.T, data []byte, subject string) {
		var request streams.ReadReq
		if proto.Unmarshal(data, &request) != nil {
			return
		}
		q, err := ParseRead(request.GetOptions())
		if err != nil {
			refusedWithStatus(t, err)
			return
		}
		if len(q.Stream) > MaxStreamName || q.From == FromExact && q.At > math.MaxInt64 ||
			q.Stream != "" && q.Filter != nil {
			t.Errorf("%+v was accepted", q)
		}
		q.Filter.Match(&record.Event{Stream: subject, Type: subject})
	})
}

// FuzzAppend checks that every write is parsed within its limits or refused, and that accepted
// events can be stored and read back.
func FuzzAppend(f *testing.F) {
	structured := wire.UUID([16]byte{1, 2, 3}, false)
	properties := map[string]string{"type": "url.created.v1", "content-type": record.ContentJSON}
	f.Add(marshal(f, &streams.BatchAppendReq{
		CorrelationId: wire.UUID([16]byte{9}, true),
		Options: &streams.BatchAppendReq_Options{
			StreamIdentifier:       wire.StreamIdentifier("url-1"),
			ExpectedStreamPosition: &streams.BatchAppendReq_Options_StreamPosition{StreamPosition: math.MaxUint64},
		},
		ProposedMessages: []*streams.BatchAppendReq_ProposedMessage{
			{Id: structured, Metadata: properties, Data: []byte(`{"$maxCount":5}`), CustomMetadata: []byte("{}")},
		},
		IsFinal: true,
	}))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		var request streams.BatchAppendReq
		if proto.Unmarshal(data, &request) != nil {
			return
		}
		if _, err := ParseUUID(request.GetCorrelationId()); err != nil {
			refusedWithStatus(t, err)
		}
		if _, err := WritableStream(request.GetOptions().GetStreamIdentifier()); err != nil {
			refusedWithStatus(t, err)
		}
		if expected, err := BatchExpectation(request.GetOptions()); err != nil {
			refusedWithStatus(t, err)
		} else if expected < min(revision.Any, revision.StreamExists, revision.NoStream) {
			t.Errorf("revision %d is expected", expected)
		}
		if timeout := BatchDeadline(request.GetOptions(), time.Unix(0, 0)); timeout > BatchTimeout {
			t.Errorf("the batch may take %s", timeout)
		}
		var d Append
		for _, m := range request.GetProposedMessages() {
			if err := d.Add(m, 1<<20); err != nil {
				refusedWithStatus(t, err)
			}
		}
		for _, p := range d.Events {
			r := &record.Event{ID: p.ID, JSON: p.JSON, Stream: "s", Type: p.Type, Metadata: p.Metadata, Data: p.Data}
			record.ParseLimits(r)
			read, err := record.Decode(1, r.Encode())
			if err != nil {
				t.Fatal(err)
			}
			if read.ID != p.ID || read.Type != p.Type || !bytes.Equal(read.Data, p.Data) ||
				!bytes.Equal(read.Metadata, p.Metadata) {
				t.Errorf("%+v reads back as %+v", p, read)
			}
		}
	})
}

func refusedWithStatus(t *testing.T, err error) {
	t.Helper()
	if _, ok := status.FromError(failure.Status(t.Context(), err)); !ok {
		t.Errorf("%v is not a status", err)
	}
}
