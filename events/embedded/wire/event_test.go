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
	rapid.Check(t, func(t *rapid.T) {
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
			want := &streams.ReadResp{Content: &streams.ReadResp_Event{Event: &streams.ReadResp_ReadEvent{
				Event:    RecordedEvent(r, stringIDs),
				Position: &streams.ReadResp_ReadEvent_CommitPosition{CommitPosition: r.Position},
			}}}
			var got streams.ReadResp
			if err := proto.Unmarshal(message, &got); err != nil || !proto.Equal(&got, want) {
				t.Fatalf("got %v, %v, want %v", &got, err, want)
			}
			if len(message) != proto.Size(want) {
				t.Fatalf("%d bytes, want %d", len(message), proto.Size(want))
			}
		}
	})
}
