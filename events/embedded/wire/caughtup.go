package wire

import (
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"linkledger/events/embedded/record"
)

// Numbers of fields that the present protocol has and the client's stubs have
// not: CaughtUp says when and where, and Checkpoint when it was reached.
const (
	fieldCheckpoint = 3 // of ReadResp
	fieldCaughtUp   = 8

	fieldCaughtUpTime     = 1 // of CaughtUp
	fieldCaughtUpRevision = 2
	fieldCaughtUpPosition = 3
	fieldCheckpointCommit = 1 // of Checkpoint, and of Position
	fieldCheckpointOther  = 2
	fieldCheckpointTime   = 3
	fieldSeconds          = 1 // of Timestamp
	fieldNanos            = 2
)

// EncodeCaughtUp says that everything up to a place was sent: the revision of a
// stream, or a position of the log where the revision is NoEvents. A stream
// without events has no revision; there it is the end of the log, because
// KurrentDB's Go clients before 1.1.2 crash where neither is given.
func EncodeCaughtUp(revision int64, position uint64, now time.Time) Encoded {
	body := appendTime(nil, fieldCaughtUpTime, now)
	if revision != record.NoEvents {
		body = protowire.AppendTag(body, fieldCaughtUpRevision, protowire.VarintType)
		body = protowire.AppendVarint(body, uint64(revision)) // also zero, which means something
	} else {
		body = appendMessage(body, fieldCaughtUpPosition, appendPlace(nil, position))
	}
	return appendMessage(nil, fieldCaughtUp, body)
}

// EncodeBareCaughtUp says it as older servers do, without a place.
func EncodeBareCaughtUp() Encoded { return appendMessage(nil, fieldCaughtUp, nil) }

// EncodeCheckpoint says that everything up to a position was looked at.
func EncodeCheckpoint(position uint64, now time.Time) Encoded {
	return appendMessage(
		nil, fieldCheckpoint, appendTime(appendPlace(nil, position), fieldCheckpointTime, now),
	)
}

// EncodeBareCheckpoint says it as older servers do, without the time.
func EncodeBareCheckpoint(position uint64) Encoded {
	return appendMessage(nil, fieldCheckpoint, appendPlace(nil, position))
}

func appendPlace(b []byte, position uint64) []byte {
	return appendNumber(
		appendNumber(b, fieldCheckpointCommit, position), fieldCheckpointOther, position,
	)
}

func appendTime(b []byte, field protowire.Number, at time.Time) []byte {
	stamp := appendNumber(nil, fieldSeconds, uint64(at.Unix()))
	return appendMessage(b, field, appendNumber(stamp, fieldNanos, uint64(at.Nanosecond())))
}

func appendMessage(b []byte, field protowire.Number, body []byte) Encoded {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), body)
}
