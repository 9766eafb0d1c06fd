package embedded

import (
	"time"

	"google.golang.org/protobuf/encoding/protowire"
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

// sendCaughtUp says that everything up to a place was sent: the revision of a
// stream, or a position of the log where the revision is noEvents. A stream
// without events has no revision; there it is the end of the log, because
// KurrentDB's Go clients before 1.1.2 crash where neither is given.
func (r *reader) sendCaughtUp(revision int64, position uint64) error {
	if r.store.cfg.Answers != AnswersOwn {
		return r.sendEncoded(appendMessage(nil, fieldCaughtUp, nil))
	}
	body := appendTime(nil, fieldCaughtUpTime, r.store.cfg.now())
	if revision != noEvents {
		body = protowire.AppendTag(body, fieldCaughtUpRevision, protowire.VarintType)
		body = protowire.AppendVarint(body, uint64(revision)) // also zero, which means something
	} else {
		body = appendMessage(body, fieldCaughtUpPosition, appendPlace(nil, position))
	}
	return r.sendEncoded(appendMessage(nil, fieldCaughtUp, body))
}

// sendCheckpoint says that everything up to a position was looked at.
func (r *reader) sendCheckpoint(position uint64) error {
	body := appendPlace(nil, position)
	if r.store.cfg.Answers == AnswersOwn {
		body = appendTime(body, fieldCheckpointTime, r.store.cfg.now())
	}
	return r.sendEncoded(appendMessage(nil, fieldCheckpoint, body))
}

func appendPlace(b []byte, position uint64) []byte {
	return appendNumber(appendNumber(b, fieldCheckpointCommit, position), fieldCheckpointOther, position)
}

func appendTime(b []byte, field protowire.Number, at time.Time) []byte {
	stamp := appendNumber(nil, fieldSeconds, uint64(at.Unix()))
	return appendMessage(b, field, appendNumber(stamp, fieldNanos, uint64(at.Nanosecond())))
}

func appendMessage(b []byte, field protowire.Number, body []byte) encoded {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), body)
}
