// Package eventlog defines what a log of events is made of: positions, revisions, recorded events
// and filters, and the errors of those who read it or write to it.
package eventlog

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
)

// Revision is the number of an event in its stream, from 0; NoStream stands before the first.
type Revision = events.Revision

// NoStream is the revision of a stream that does not exist.
const NoStream = events.NoStream

// Position is a place in the log of all streams. Positions grow, with gaps.
type Position struct {
	Commit, Prepare uint64
}

// After tells whether p lies behind q in the log.
func (p Position) After(q Position) bool {
	return p.Commit > q.Commit || p.Commit == q.Commit && p.Prepare > q.Prepare
}

// String is the form of the X-Event-Position header.
func (p Position) String() string { return strconv.FormatUint(p.Commit, 10) }

// Recorded is a stored event.
type Recorded struct {
	ID       uuid.UUID
	Stream   string
	Revision Revision
	Position Position
	Type     string
	Time     time.Time // when an event store recorded it first
	Data     []byte
	Metadata []byte
	Origin   Position // in the log that it was copied from first; zero: it was not copied

	body events.Event // of Data, where it was decoded on the way; else nil
}

// Event decodes the body; see events.Decode for its errors.
func (r Recorded) Event() (events.Event, error) {
	if r.body != nil {
		return r.body, nil
	}
	e, err := events.Decode(r.Type, r.Data)
	if err != nil {
		return nil, fmt.Errorf(
			"event %d of %s at position %s: %w", r.Revision, r.Stream, r.Position, err,
		)
	}
	return e, nil
}

// IsSystem reports whether an event is one of the event store itself, by the name of its stream or
// by its type. In a stream of Linkledger that is a tombstone, or what somebody else has put there.
func (r Recorded) IsSystem() bool {
	return strings.HasPrefix(r.Stream, "$") || strings.HasPrefix(r.Type, "$")
}

// Predecode decodes the body for Event, which tells of an error.
func (r *Recorded) Predecode() { r.body, _ = events.Decode(r.Type, r.Data) }
