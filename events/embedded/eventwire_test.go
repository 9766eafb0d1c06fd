package embedded

import (
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

// An event that is encoded by hand is the message that protobuf makes of it.
func TestEncodeEvent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var scratch []byte
		for range 2 { // the second time in the room of the first
			r := &record{
				pos: rapid.Uint64().Draw(t, "position"), number: rapid.Int64Min(0).Draw(t, "number"), created: rapid.Int64().Draw(t, "created"),
				id: uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id")), json: rapid.Bool().Draw(t, "json"),
				stream: rapid.StringN(1, -1, -1).Draw(t, "stream"), kind: rapid.StringN(1, -1, -1).Draw(t, "type"),
				meta: rapid.SliceOf(rapid.Byte()).Draw(t, "metadata"), data: rapid.SliceOf(rapid.Byte()).Draw(t, "data"),
			}
			stringIDs := rapid.Bool().Draw(t, "string ids")
			var message encoded
			message, scratch = encodeEvent(r, stringIDs, scratch)
			want := &streams.ReadResp{Content: &streams.ReadResp_Event{Event: &streams.ReadResp_ReadEvent{
				Event: wireRecord(r, stringIDs), Position: &streams.ReadResp_ReadEvent_CommitPosition{CommitPosition: r.pos},
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
