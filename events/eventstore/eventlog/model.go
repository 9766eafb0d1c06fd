// Package eventlog defines positions, revisions, recorded events and filters of a log, and the
// errors of reading and writing it. It MUST NOT depend on the protocol of the event store.
package eventlog

import (
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/codec"
)

// Revision is the number of an event in its stream, counted from 0.
type Revision = events.Revision

// NoStream is the revision of a stream that does not exist.
const NoStream = events.NoStream

// Position is the position of an event in the log of all streams. Each event has a higher position
// than all events before it. There are gaps.
type Position struct {
	Commit, Prepare uint64
}

// After reports whether p comes after q in the log.
func (p Position) After(q Position) bool {
	return p.Commit > q.Commit || p.Commit == q.Commit && p.Prepare > q.Prepare
}

// String returns the form of the X-Event-Position header.
func (p Position) String() string { return strconv.FormatUint(p.Commit, 10) }

// Recorded is a stored event.
type Recorded struct {
	ID       uuid.UUID
	Stream   string
	Revision Revision
	Position Position
	Type     string
	Time     time.Time // when the first event store recorded it
	Data     []byte
	Metadata []byte
	Origin   Position // position in the first log; zero if the event is not a copy

	body events.Event // decoded Data, or nil before Predecode
}

// Event returns the decoded body. It fails with a *DecodeError.
func (r Recorded) Event() (events.Event, error) {
	if r.body != nil {
		return r.body, nil
	}
	e, err := codec.Decode(r.Type, r.Data)
	if err != nil {
		return nil, r.Undecoded(err)
	}
	return e, nil
}

// Undecoded returns the error about an event that this program cannot make sense of.
func (r Recorded) Undecoded(cause error) *DecodeError {
	return &DecodeError{
		Stream: r.Stream, Revision: r.Revision, Position: r.Position, Type: r.Type, Err: cause,
	}
}

// IsSystem reports whether the event store itself wrote the event, according to the name of its
// stream or its type. In a stream of Linkledger, such an event is a tombstone or was written by
// another program.
func (r Recorded) IsSystem() bool {
	return strings.HasPrefix(r.Stream, "$") || strings.HasPrefix(r.Type, "$")
}

// Predecode decodes the body for later calls of Event. It ignores errors, because Event decodes
// again and returns them.
func (r *Recorded) Predecode() { r.body, _ = codec.Decode(r.Type, r.Data) }
