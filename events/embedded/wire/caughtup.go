package wire

import (
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"linkledger/events/embedded/record"
)

// Numbers of fields of the current protocol. The client's stubs lack some of these fields: the
// time, revision and position of CaughtUp, and the time of Checkpoint.
const (
	fieldCheckpoint = 3 // of ReadResp
	fieldCaughtUp   = 8

	fieldCaughtUpTime      = 1 // of CaughtUp
	fieldCaughtUpRevision  = 2
	fieldCaughtUpPosition  = 3
	fieldCheckpointCommit  = 1 // of Checkpoint, and of Position
	fieldCheckpointPrepare = 2
	fieldCheckpointTime    = 3
	fieldSeconds           = 1 // of Timestamp
	fieldNanos             = 2
)

// EncodeCaughtUp encodes a CaughtUp, which tells a client that all events up to a point were sent.
// The point is the revision of a stream, or a position of the log if revision is NoEvents. The
// CaughtUp of a stream without events also has a position, the end of the log, because KurrentDB's
// Go clients before 1.1.2 crash if both are missing.
func EncodeCaughtUp(revision int64, position uint64, now time.Time) Encoded {
	body := appendTime(nil, fieldCaughtUpTime, now)
	if revision != record.NoEvents {
		body = protowire.AppendTag(body, fieldCaughtUpRevision, protowire.VarintType)
		// even if it is zero, which is a valid revision
		body = protowire.AppendVarint(body, uint64(revision))
	} else {
		body = appendMessage(body, fieldCaughtUpPosition, appendPosition(nil, position))
	}
	return appendMessage(nil, fieldCaughtUp, body)
}

// EncodeBareCaughtUp encodes the CaughtUp of older servers, which has no fields.
func EncodeBareCaughtUp() Encoded { return appendMessage(nil, fieldCaughtUp, nil) }

// EncodeCheckpoint encodes a Checkpoint, which tells a client that all events up to a position were
// examined.
func EncodeCheckpoint(position uint64, now time.Time) Encoded {
	return appendMessage(
		nil, fieldCheckpoint, appendTime(appendPosition(nil, position), fieldCheckpointTime, now),
	)
}

// EncodeBareCheckpoint encodes the Checkpoint of older servers, which has no time.
func EncodeBareCheckpoint(position uint64) Encoded {
	return appendMessage(nil, fieldCheckpoint, appendPosition(nil, position))
}

func appendPosition(b []byte, position uint64) []byte {
	return appendNumber(
		appendNumber(b, fieldCheckpointCommit, position), fieldCheckpointPrepare, position,
	)
}

func appendTime(b []byte, field protowire.Number, at time.Time) []byte {
	stamp := appendNumber(nil, fieldSeconds, uint64(at.Unix()))
	return appendMessage(b, field, appendNumber(stamp, fieldNanos, uint64(at.Nanosecond())))
}

func appendMessage(b []byte, field protowire.Number, body []byte) Encoded {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), body)
}
