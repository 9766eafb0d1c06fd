package wire

import (
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"linkledger/events/embedded/record"
)

// TestEncodeEvent checks that EncodeEvent returns the message that protobuf encodes.
func TestEncodeEvent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, encodeAlike)
}

// FuzzEncodeEvent is TestEncodeEvent with events that the fuzzer chooses.
func FuzzEncodeEvent(f *testing.F) { f.Fuzz(rapid.MakeFuzz(encodeAlike)) }

func encodeAlike(t *rapid.T) {
	var scratch []byte
	for range 2 { // the second time into the buffer of the first
		r := &record.Event{
			Position: rapid.Uint64().Draw(t, "position"), Number: rapid.Int64Min(0).Draw(t, "number"),
			Created: rapid.Int64().Draw(t, "created"),
			ID:      uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id")),
			JSON:    rapid.Bool().Draw(t, "json"),
			Stream:  rapid.StringN(1, -1, -1).Draw(t, "stream"), Type: rapid.StringN(1, -1, -1).Draw(t, "type"),
			Metadata: rapid.SliceOf(rapid.Byte()).Draw(t, "metadata"),
			Data:     rapid.SliceOf(rapid.Byte()).Draw(t, "data"),
		}
		stringIDs := rapid.Bool().Draw(t, "string ids")
		var message Encoded
		message, scratch = EncodeEvent(r, stringIDs, scratch)
		want := byLibrary(r, stringIDs)
		var got streams.ReadResp
		if err := proto.Unmarshal(message, &got); err != nil || !proto.Equal(&got, want) {
			t.Fatalf("got %v, %v, want %v", &got, err, want)
		}
		if len(message) != proto.Size(want) {
			t.Fatalf("%d bytes, want %d", len(message), proto.Size(want))
		}
	}
}

// byLibrary returns the message of an event as protobuf structs.
func byLibrary(r *record.Event, stringIDs bool) *streams.ReadResp {
	return &streams.ReadResp{Content: &streams.ReadResp_Event{Event: &streams.ReadResp_ReadEvent{
		Event:    RecordedEvent(r, stringIDs),
		Position: &streams.ReadResp_ReadEvent_CommitPosition{CommitPosition: r.Position},
	}}}
}

// BenchmarkEncodeEvent compares EncodeEvent with protobuf structs.
func BenchmarkEncodeEvent(b *testing.B) {
	r := &record.Event{
		Position: 1e9, Number: 7, Created: 1e16, ID: uuid.Max, JSON: true, Stream: "url-" + uuid.Max.String(),
		Type: "url.settings_changed.v1", Metadata: make([]byte, 240), Data: make([]byte, 80),
	}
	var scratch []byte
	for name, encode := range map[string]func(){
		"own":     func() { _, scratch = EncodeEvent(r, false, scratch) },
		"library": func() { _, _ = proto.Marshal(byLibrary(r, false)) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				encode()
			}
		})
	}
}
