package embedded

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

func marshal(f *testing.F, message proto.Message) []byte {
	f.Helper()
	encoded, err := proto.Marshal(message)
	if err != nil {
		f.Fatal(err)
	}
	return encoded
}

// Whatever a client sends is understood within its bounds, or refused with a status.
func FuzzRead(f *testing.F) {
	empty := &shared.Empty{}
	stream := &streams.ReadReq_Options_Stream{Stream: &streams.ReadReq_Options_StreamOptions{
		StreamIdentifier: wireStream("url-1"), RevisionOption: &streams.ReadReq_Options_StreamOptions_Revision{Revision: math.MaxUint64},
	}}
	all := &streams.ReadReq_Options_All{All: &streams.ReadReq_Options_AllOptions{
		AllOption: &streams.ReadReq_Options_AllOptions_Position{Position: &streams.ReadReq_Options_Position{CommitPosition: 5, PreparePosition: 5}},
	}}
	filtered := &streams.ReadReq_Options_Filter{Filter: &streams.ReadReq_Options_FilterOptions{
		Filter: &streams.ReadReq_Options_FilterOptions_StreamIdentifier{
			StreamIdentifier: &streams.ReadReq_Options_FilterOptions_Expression{Prefix: []string{"url-", "tags-"}, Regex: "^url-"},
		},
		Window: &streams.ReadReq_Options_FilterOptions_Max{Max: 32}, CheckpointIntervalMultiplier: math.MaxUint32,
	}}
	count, subscription := &streams.ReadReq_Options_Count{Count: 1}, &streams.ReadReq_Options_Subscription{}
	unfiltered := &streams.ReadReq_Options_NoFilter{NoFilter: empty}
	for _, options := range []*streams.ReadReq_Options{
		{StreamOption: stream, CountOption: count, FilterOption: unfiltered, ReadDirection: streams.ReadReq_Options_Backwards},
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
		q, err := parseRead(request.GetOptions())
		if err != nil {
			refusedWithStatus(t, err)
			return
		}
		if len(q.stream) > maxStreamName || q.from == fromExact && q.at > math.MaxInt64 || q.stream != "" && q.filter != nil {
			t.Errorf("%+v was accepted", q)
		}
		q.filter.match(&record{stream: subject, kind: subject})
	})
}

// The same for writes: what is accepted can be stored and is read back as it was.
func FuzzAppend(f *testing.F) {
	structured := wireUUID([16]byte{1, 2, 3}, false)
	properties := map[string]string{"type": "url.created.v1", "content-type": contentJSON}
	f.Add(marshal(f, &streams.BatchAppendReq{
		CorrelationId: wireUUID([16]byte{9}, true),
		Options: &streams.BatchAppendReq_Options{
			StreamIdentifier:       wireStream("url-1"),
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
		if _, err := parseUUID(request.GetCorrelationId()); err != nil {
			refusedWithStatus(t, err)
		}
		if _, err := writableStream(request.GetOptions().GetStreamIdentifier()); err != nil {
			refusedWithStatus(t, err)
		}
		if expected, err := batchExpectation(request.GetOptions()); err != nil {
			refusedWithStatus(t, err)
		} else if expected < min(expectAny, expectExists, expectNoStream) {
			t.Errorf("revision %d is expected", expected)
		}
		if timeout := batchDeadline(request.GetOptions(), time.Unix(0, 0)); timeout > batchTimeout {
			t.Errorf("the batch may take %s", timeout)
		}
		var d draft
		for _, m := range request.GetProposedMessages() {
			if err := d.add(m, 1<<20); err != nil {
				refusedWithStatus(t, err)
			}
		}
		for _, p := range d.events {
			r := &record{id: p.id, json: p.json, stream: "s", kind: p.kind, meta: p.meta, data: p.data}
			parseLimits(r)
			read, err := decodeRecord(1, r.encode())
			if err != nil {
				t.Fatal(err)
			}
			if read.id != p.id || read.kind != p.kind || !bytes.Equal(read.data, p.data) || !bytes.Equal(read.meta, p.meta) {
				t.Errorf("%+v reads back as %+v", p, read)
			}
		}
	})
}

func refusedWithStatus(t *testing.T, err error) {
	t.Helper()
	if _, ok := status.FromError(failure(t.Context(), err)); !ok {
		t.Errorf("%v is no status", err)
	}
}

// Stored bytes are a record, or they are reported as damaged. The checksum is made to fit, or else nothing would get by it.
func FuzzDecodeRecord(f *testing.F) {
	whole := (&record{number: tombstoneNumber, created: 1, json: true, stream: "url-1", kind: "k", meta: []byte("m"), data: []byte("{}")}).encode()
	f.Add(whole[:len(whole)-recordChecksum])
	f.Add(whole[:recordFixed+1])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := decodeRecord(1, binary.BigEndian.AppendUint32(bytes.Clone(body), crc32.Checksum(body, castagnoli)))
		if err != nil {
			return
		}
		again, err := decodeRecord(1, r.encode())
		if err != nil || again.number != r.number || again.created != r.created || again.stream != r.stream || !bytes.Equal(again.data, r.data) {
			t.Errorf("%+v reads back as %+v, %v", r, again, err)
		}
		parseLimits(r)
		if marked := withTruncateBefore(r.data, 7); marked != nil {
			if l := parseLimits(&record{json: true, data: marked}); l != (limits{}) && l.truncateBefore != 7 {
				t.Errorf("%s has the limits %+v", marked, l)
			}
		}
	})
}
