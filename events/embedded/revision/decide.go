// Package revision decides writes by their expected revision, and recognizes repeated writes.
package revision

import (
	"fmt"

	"github.com/google/uuid"

	"linkledger/events/embedded/record"
)

// Expected revisions below zero have a special meaning.
const (
	NoStream     = int64(-1)
	Any          = int64(-2)
	StreamExists = int64(-4)
)

// WrongError is returned for a write whose expected revision is not the current one.
type WrongError struct {
	Stream   string
	Expected int64
	Current  int64 // record.NoEvents if the stream has no events
}

// Error returns the message with which EventStoreDB refuses a deletion. Only deletions need the
// message: the response to an append has fields for this error.
func (e *WrongError) Error() string {
	return fmt.Sprintf(
		"Delete failed due to WrongExpectedVersion. "+
			"Stream: %s, Expected version: %d, Actual version: %d",
		e.Stream, e.Expected, e.Current,
	)
}

// StreamDeletedError is returned for every read of and write to a tombstoned stream.
type StreamDeletedError struct{ Stream string }

// Error returns the message with which EventStoreDB reports this error.
func (e *StreamDeletedError) Error() string {
	return fmt.Sprintf("Event stream '%s' is deleted.", e.Stream)
}

// Decision is the result of an accepted write.
type Decision struct {
	Replay   bool  // the same events are already stored
	Replayed Entry // last of these events; set if Replay is true
	Undelete bool  // the stream is soft-deleted and the write undeletes it
}

// StreamInfo is what Decide needs to know of the stream of a write.
type StreamInfo struct {
	Stream     string
	Last       int64
	Tombstoned bool // the stream, or the stream whose metadata it holds, is tombstoned
	Soft       bool // the stream is soft-deleted
	HasMeta    bool // metadata was written for the stream at any time
	// Recent returns where the event with an id was written in this stream. It returns false if the
	// event is not among the last events of the log.
	Recent func(uuid.UUID) (Entry, bool)
	// At returns the event with this number even if it is truncated, or nil if there is none.
	At func(number int64) (*record.Event, error)
}

// Decide checks the expected revision of a write. A repeated write, whose events are all stored
// where it would write them, succeeds again and is a Replay.
func (s StreamInfo) Decide(expected int64, ids []uuid.UUID) (Decision, error) {
	if s.Tombstoned {
		return Decision{}, &StreamDeletedError{s.Stream}
	}
	if expected == StreamExists {
		if s.Soft {
			return Decision{}, &StreamDeletedError{s.Stream}
		}
		if s.Last < 0 && !s.HasMeta {
			return Decision{}, s.wrong(expected)
		}
	}
	if expected == Any || expected == StreamExists {
		return s.decideAny(expected, ids)
	}
	switch {
	case expected == s.Last:
		return Decision{Undelete: s.Soft}, nil
	case expected > s.Last:
		return Decision{}, s.wrong(expected)
	}
	return s.decideRetry(expected, ids)
}

func (s StreamInfo) wrong(expected int64) error {
	return &WrongError{s.Stream, expected, s.Last}
}

// decideAny decides a write that expects no particular revision. If the first id is unknown, the
// whole write is accepted, even if later ids are known. If all ids are known, the write is a
// Replay. If the first id is known and a later one is not, the write is refused.
func (s StreamInfo) decideAny(expected int64, ids []uuid.UUID) (Decision, error) {
	var last Entry
	for i, id := range ids {
		entry, known := s.Recent(id)
		switch {
		case known:
			last = entry
		case i == 0:
			return Decision{Undelete: s.Soft}, nil
		default:
			return Decision{}, s.wrong(expected)
		}
	}
	if len(ids) == 0 {
		return Decision{}, nil
	}
	return Decision{Replay: true, Replayed: last}, nil
}

// decideRetry decides a write whose expected revision is below the current one. If exactly these
// events follow the expected revision, the write is a Replay. Otherwise it is a conflict, with one
// exception: a write with NoStream whose first event differs undeletes a soft-deleted stream.
func (s StreamInfo) decideRetry(expected int64, ids []uuid.UUID) (Decision, error) {
	var last Entry
	number := expected
	for i, id := range ids {
		number++
		stored, err := s.At(number)
		if err != nil {
			return Decision{}, err
		}
		if stored != nil && stored.ID == id {
			last = Entry{stored.Number, stored.Position}
			continue
		}
		if i == 0 && expected == NoStream && s.Soft {
			return Decision{Undelete: true}, nil
		}
		return Decision{}, s.wrong(expected)
	}
	if len(ids) == 0 {
		return Decision{}, s.wrong(expected)
	}
	return Decision{Replay: true, Replayed: last}, nil
}
