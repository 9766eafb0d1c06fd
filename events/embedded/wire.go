package embedded

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
)

const (
	maxStreamName   = 2048 // bytes
	maxAppendEvents = 65_536

	contentJSON   = "application/json"
	contentBinary = "application/octet-stream"
)

// streamName checks the name of a stream as it comes from a client.
func streamName(id *shared.StreamIdentifier) (string, error) {
	name := id.GetStreamName()
	switch {
	case len(name) == 0:
		return "", malformed("the stream name is empty")
	case len(name) > maxStreamName:
		return "", invalid(fmt.Sprintf("the stream name is longer than %d bytes", maxStreamName))
	case !utf8.Valid(name):
		return "", invalid("the stream name is not valid UTF-8")
	case string(name) == metadataPrefix:
		return "", invalid("a metadata stream needs the name of a stream")
	}
	return string(name), nil
}

// exactRevision converts an expected revision; the largest value means that
// there is no stream.
func exactRevision(revision uint64) (int64, error) {
	if revision == math.MaxUint64 {
		return expectNoStream, nil
	}
	if revision > math.MaxInt64 {
		return 0, invalid(fmt.Sprintf("revision %d is out of range", revision))
	}
	return int64(revision), nil
}

func parseUUID(id *shared.UUID) (uuid.UUID, error) {
	switch v := id.GetValue().(type) {
	case *shared.UUID_Structured_:
		var out uuid.UUID
		binary.BigEndian.PutUint64(out[:8], uint64(v.Structured.GetMostSignificantBits()))
		binary.BigEndian.PutUint64(out[8:], uint64(v.Structured.GetLeastSignificantBits()))
		return out, nil
	case *shared.UUID_String_:
		out, err := uuid.Parse(v.String_)
		if err != nil {
			return uuid.Nil, malformed("malformed event id")
		}
		return out, nil
	}
	return uuid.Nil, malformed("the event id is missing")
}

func wireUUID(id uuid.UUID, asString bool) *shared.UUID {
	if asString {
		return &shared.UUID{Value: &shared.UUID_String_{String_: id.String()}}
	}
	return &shared.UUID{Value: &shared.UUID_Structured_{Structured: &shared.UUID_Structured{
		MostSignificantBits:  int64(binary.BigEndian.Uint64(id[:8])),
		LeastSignificantBits: int64(binary.BigEndian.Uint64(id[8:])),
	}}}
}

// proposedMessage is what AppendReq and BatchAppendReq have in common.
type proposedMessage interface {
	GetId() *shared.UUID
	GetMetadata() map[string]string
	GetCustomMetadata() []byte
	GetData() []byte
}

func parseProposed(m proposedMessage) (proposed, error) {
	id, err := parseUUID(m.GetId())
	if err != nil {
		return proposed{}, err
	}
	if id == uuid.Nil {
		return proposed{}, malformed("the event id is empty")
	}
	kind, hasType := m.GetMetadata()["type"]
	content, hasContent := m.GetMetadata()["content-type"]
	switch {
	case !hasType:
		return proposed{}, &missingPropertyError{"type"}
	case !hasContent:
		return proposed{}, &missingPropertyError{"content-type"}
	}
	if kind == "" {
		return proposed{}, malformed("the event type is empty")
	}
	return proposed{
		id: id, kind: kind, json: content == contentJSON,
		meta: m.GetCustomMetadata(), data: m.GetData(),
	}, nil
}

// appendSize is what an event counts against the limit of an append.
func (p proposed) appendSize() int { return len(p.data) + len(p.meta) + 2*len(p.kind) }

func wireRecord(r *record, stringIDs bool) *streams.ReadResp_ReadEvent_RecordedEvent {
	content := contentBinary
	if r.json {
		content = contentJSON
	}
	return &streams.ReadResp_ReadEvent_RecordedEvent{
		Id:               wireUUID(r.id, stringIDs),
		StreamIdentifier: wireStream(r.stream),
		StreamRevision:   uint64(r.number),
		PreparePosition:  r.pos,
		CommitPosition:   r.pos,
		Metadata: map[string]string{
			"type": r.kind, "created": strconv.FormatInt(r.created, 10), "content-type": content,
		},
		CustomMetadata: r.meta,
		Data:           r.data,
	}
}

func wireStream(name string) *shared.StreamIdentifier {
	return &shared.StreamIdentifier{StreamName: []byte(name)}
}
