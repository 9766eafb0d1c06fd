package wire

import (
	"encoding/binary"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"

	"linkledger/events/eventstore/eventlog"
)

// serverTimeout is the deadline of one append at the event store. It is the longest deadline that
// EventStoreDB allows.
const serverTimeout = 2 * time.Second

// BatchAppend is the request of one append. It may be sent several times, each time with another
// correlation id.
type BatchAppend struct {
	options  *streams.BatchAppendReq_Options
	Proposed []*streams.BatchAppendReq_ProposedMessage
}

// NewBatchAppend returns the request to append events to a stream at an expected revision.
func NewBatchAppend(
	stream string, expected eventlog.Revision, proposed []*streams.BatchAppendReq_ProposedMessage,
) *BatchAppend {
	options := &streams.BatchAppendReq_Options{
		StreamIdentifier: &shared.StreamIdentifier{StreamName: []byte(stream)},
		ExpectedStreamPosition: &streams.BatchAppendReq_Options_NoStream{
			NoStream: &emptypb.Empty{},
		},
		DeadlineOption: &streams.BatchAppendReq_Options_Deadline{
			Deadline: durationpb.New(serverTimeout),
		},
	}
	if expected != eventlog.NoStream {
		options.ExpectedStreamPosition = &streams.BatchAppendReq_Options_StreamPosition{
			StreamPosition: uint64(expected), //nolint:gosec // not negative
		}
	}
	return &BatchAppend{options: options, Proposed: proposed}
}

// Stream returns the name of the stream.
func (b *BatchAppend) Stream() []byte { return b.options.GetStreamIdentifier().GetStreamName() }

// Message returns the request with a correlation id.
func (b *BatchAppend) Message(correlation uuid.UUID) *streams.BatchAppendReq {
	return &streams.BatchAppendReq{
		CorrelationId: wireID(correlation), Options: b.options, ProposedMessages: b.Proposed,
		IsFinal: true,
	}
}

func wireID(id uuid.UUID) *shared.UUID {
	return &shared.UUID{Value: &shared.UUID_Structured_{Structured: &shared.UUID_Structured{
		//nolint:gosec // the protocol's form of the same bits
		MostSignificantBits: int64(binary.BigEndian.Uint64(id[:8])),
		//nolint:gosec // the protocol's form of the same bits
		LeastSignificantBits: int64(binary.BigEndian.Uint64(id[8:])),
	}}}
}

// IDOf returns the UUID whose structured form, as the protocol sends it, is wire.
func IDOf(wire *shared.UUID) uuid.UUID {
	var id uuid.UUID
	//nolint:gosec // the same bits
	binary.BigEndian.PutUint64(id[:8], uint64(wire.GetStructured().GetMostSignificantBits()))
	//nolint:gosec // the same bits
	binary.BigEndian.PutUint64(id[8:], uint64(wire.GetStructured().GetLeastSignificantBits()))
	return id
}

// ProposedMessage returns an event with a JSON body in the form of the protocol.
func ProposedMessage(
	id uuid.UUID, eventType string, body, metadata []byte,
) *streams.BatchAppendReq_ProposedMessage {
	return &streams.BatchAppendReq_ProposedMessage{
		Id:             wireID(id),
		Metadata:       map[string]string{"type": eventType, "content-type": "application/json"},
		Data:           body,
		CustomMetadata: metadata,
	}
}
