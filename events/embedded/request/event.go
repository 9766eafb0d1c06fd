package request

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/google/uuid"

	"linkledger/events/embedded/dialect"
	"linkledger/events/embedded/failure"
	"linkledger/events/embedded/record"
	"linkledger/events/embedded/revision"
)

// Limits of a request.
const (
	MaxStreamName   = 2048 // bytes
	maxAppendEvents = 65_536
)

// streamName returns the name of a stream in a request, or an error if it is not valid.
func streamName(id *shared.StreamIdentifier) (string, error) {
	name := id.GetStreamName()
	switch {
	case len(name) == 0:
		return "", dialect.Malformed("the stream name is empty")
	case len(name) > MaxStreamName:
		return "", dialect.Invalid(
			fmt.Sprintf("the stream name is longer than %d bytes", MaxStreamName),
		)
	case !utf8.Valid(name):
		return "", dialect.Invalid("the stream name is not valid UTF-8")
	case string(name) == record.MetadataPrefix:
		return "", dialect.Invalid("a metadata stream needs the name of a stream")
	}
	return string(name), nil
}

// exactRevision converts an expected revision. The largest value means NoStream.
func exactRevision(number uint64) (int64, error) {
	if number == math.MaxUint64 {
		return revision.NoStream, nil
	}
	if number > math.MaxInt64 {
		return 0, dialect.Invalid(fmt.Sprintf("revision %d is out of range", number))
	}
	return int64(number), nil
}

// ParseUUID parses an id in either form of the protocol.
func ParseUUID(id *shared.UUID) (uuid.UUID, error) {
	switch v := id.GetValue().(type) {
	case *shared.UUID_Structured_:
		var out uuid.UUID
		binary.BigEndian.PutUint64(out[:8], uint64(v.Structured.GetMostSignificantBits()))
		binary.BigEndian.PutUint64(out[8:], uint64(v.Structured.GetLeastSignificantBits()))
		return out, nil
	case *shared.UUID_String_:
		out, err := uuid.Parse(v.String_)
		if err != nil {
			return uuid.Nil, dialect.Malformed("malformed event id")
		}
		return out, nil
	}
	return uuid.Nil, dialect.Malformed("the event id is missing")
}

// proposedMessage is an event in an AppendReq or a BatchAppendReq.
type proposedMessage interface {
	GetId() *shared.UUID
	GetMetadata() map[string]string
	GetCustomMetadata() []byte
	GetData() []byte
}

func parseProposed(m proposedMessage) (record.Proposed, error) {
	id, err := ParseUUID(m.GetId())
	if err != nil {
		return record.Proposed{}, err
	}
	if id == uuid.Nil {
		return record.Proposed{}, dialect.Malformed("the event id is empty")
	}
	kind, hasType := m.GetMetadata()["type"]
	content, hasContent := m.GetMetadata()["content-type"]
	switch {
	case !hasType:
		return record.Proposed{}, &failure.MissingPropertyError{Name: "type"}
	case !hasContent:
		return record.Proposed{}, &failure.MissingPropertyError{Name: "content-type"}
	}
	if kind == "" {
		return record.Proposed{}, dialect.Malformed("the event type is empty")
	}
	return record.Proposed{
		ID: id, Type: kind, JSON: content == record.ContentJSON,
		Metadata: m.GetCustomMetadata(), Data: m.GetData(),
	}, nil
}

// countedSize returns how many bytes an event counts against the maximum size of an append.
func countedSize(p record.Proposed) int { return len(p.Data) + len(p.Metadata) + 2*len(p.Type) }
