// Package revision decides writes by the revision that they expect, and
// recognises those that are repeated.
package revision

import (
	"fmt"

	"github.com/google/uuid"

	"linkledger/events/embedded/record"
)

// Expected revisions below zero have a meaning of their own.
const (
	NoStream     = int64(-1)
	Any          = int64(-2)
	StreamExists = int64(-4)
)

// WrongError refuses a write whose expected revision does not hold.
type WrongError struct {
	Stream   string
	Expected int64
	Current  int64 // NoEvents when the stream has none
}

func (e *WrongError) Error() string {
	return fmt.Sprintf("Delete failed due to WrongExpectedVersion. Stream: %s, Expected version: "+
		"%d, Actual version: %d",
		e.Stream, e.Expected, e.Current) // an append says it otherwise
}

// StreamDeletedError refuses whatever is asked of a tombstoned stream.
type StreamDeletedError struct{ Stream string }

func (e *StreamDeletedError) Error() string {
	return fmt.Sprintf("Event stream '%s' is deleted.", e.Stream)
}

// Verdict is what becomes of an acceptable write.
type Verdict struct {
	Replay   bool  // the same events are stored already
	Replayed Entry // the last of them
	Undelete bool  // the stream is soft-deleted and comes back to life
}

// Situation is what a write meets.
type Situation struct {
	Stream     string
	Last       int64
	Tombstoned bool // the stream, or the one that it holds the metadata of
	Soft       bool // soft-deleted
	HasMeta    bool // metadata was ever written for it
	// Recent finds an event of this stream by id among the last events.
	Recent func(uuid.UUID) (Entry, bool)
	// At finds the event with this number, truncated or not.
	At func(number int64) (*record.Event, error)
}

// Decide is the version check with its idempotency rules: a write whose events
// are all stored already, where they would have to be, succeeds again.
func (s Situation) Decide(expected int64, ids []uuid.UUID) (Verdict, error) {
	if s.Tombstoned {
		return Verdict{}, &StreamDeletedError{s.Stream}
	}
	if expected == StreamExists {
		if s.Soft {
			return Verdict{}, &StreamDeletedError{s.Stream}
		}
		if s.Last < 0 && !s.HasMeta {
			return Verdict{}, s.wrong(expected)
		}
	}
	if expected == Any || expected == StreamExists {
		return s.decideAny(expected, ids)
	}
	switch {
	case expected == s.Last:
		return Verdict{Undelete: s.Soft}, nil
	case expected > s.Last:
		return Verdict{}, s.wrong(expected)
	}
	return s.decidePast(expected, ids)
}

func (s Situation) wrong(expected int64) error {
	return &WrongError{s.Stream, expected, s.Last}
}

// decideAny accepts unless all ids are known; some of them known, but not the
// first, is appended again as a whole.
func (s Situation) decideAny(expected int64, ids []uuid.UUID) (Verdict, error) {
	var last Entry
	for i, id := range ids {
		entry, known := s.Recent(id)
		switch {
		case known:
			last = entry
		case i == 0:
			return Verdict{Undelete: s.Soft}, nil
		default:
			return Verdict{}, s.wrong(expected)
		}
	}
	if len(ids) == 0 {
		return Verdict{}, nil
	}
	return Verdict{Replay: true, Replayed: last}, nil
}

// decidePast handles an expected revision that the stream has passed: a retry
// when exactly these events follow it, a conflict otherwise.
func (s Situation) decidePast(expected int64, ids []uuid.UUID) (Verdict, error) {
	var last Entry
	number := expected
	for i, id := range ids {
		number++
		stored, err := s.At(number)
		if err != nil {
			return Verdict{}, err
		}
		if stored != nil && stored.ID == id {
			last = Entry{stored.Number, stored.Position}
			continue
		}
		if i == 0 && expected == NoStream && s.Soft {
			return Verdict{Undelete: true}, nil
		}
		return Verdict{}, s.wrong(expected)
	}
	if len(ids) == 0 {
		return Verdict{}, s.wrong(expected)
	}
	return Verdict{Replay: true, Replayed: last}, nil
}
