package wire

import (
	"encoding/binary"
	"strconv"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"

	"linkledger/events/embedded/record"
)

// UUID returns the message of an id, in the string form or the structured form.
func UUID(id uuid.UUID, asString bool) *shared.UUID {
	if asString {
		return &shared.UUID{Value: &shared.UUID_String_{String_: id.String()}}
	}
	return &shared.UUID{Value: &shared.UUID_Structured_{Structured: &shared.UUID_Structured{
		MostSignificantBits:  int64(binary.BigEndian.Uint64(id[:8])),
		LeastSignificantBits: int64(binary.BigEndian.Uint64(id[8:])),
	}}}
}

// RecordedEvent returns the message of an event.
func RecordedEvent(r *record.Event, stringIDs bool) *streams.ReadResp_ReadEvent_RecordedEvent {
	content := record.ContentBinary
	if r.JSON {
		content = record.ContentJSON
	}
	return &streams.ReadResp_ReadEvent_RecordedEvent{
		Id:               UUID(r.ID, stringIDs),
		StreamIdentifier: StreamIdentifier(r.Stream),
		StreamRevision:   uint64(r.Number),
		PreparePosition:  r.Position,
		CommitPosition:   r.Position,
		Metadata: map[string]string{
			"type": r.Type, "created": strconv.FormatInt(r.Created, 10), "content-type": content,
		},
		CustomMetadata: r.Metadata,
		Data:           r.Data,
	}
}

// StreamIdentifier returns the message of a stream name.
func StreamIdentifier(name string) *shared.StreamIdentifier {
	return &shared.StreamIdentifier{StreamName: []byte(name)}
}
