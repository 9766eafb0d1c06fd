package embedded

import (
	"fmt"

	"github.com/google/uuid"
)

// Expected revisions below zero have a meaning of their own.
const (
	expectNoStream = int64(-1)
	expectAny      = int64(-2)
	expectExists   = int64(-4)
)

// wrongVersionError refuses a write whose expected revision does not hold.
type wrongVersionError struct {
	stream   string
	expected int64
	current  int64 // noEvents when the stream has none
}

func (e *wrongVersionError) Error() string {
	return fmt.Sprintf("Delete failed due to WrongExpectedVersion. Stream: %s, Expected version: %d, Actual version: %d",
		e.stream, e.expected, e.current) // an append says it otherwise
}

// deletedError refuses whatever is asked of a tombstoned stream.
type deletedError struct{ stream string }

func (e *deletedError) Error() string { return fmt.Sprintf("Event stream '%s' is deleted.", e.stream) }

// verdict is what becomes of an acceptable write.
type verdict struct {
	replay   bool        // the same events are stored already
	replayed recentEntry // the last of them
	undelete bool        // the stream is soft-deleted and comes back to life
}

// situation is what a write meets.
type situation struct {
	stream     string
	last       int64
	tombstoned bool // the stream, or the one that it holds the metadata of
	soft       bool // soft-deleted
	hasMeta    bool // metadata was ever written for it
	// recent finds an event of this stream by id among the last events.
	recent func(uuid.UUID) (recentEntry, bool)
	// at finds the event with this number, truncated or not.
	at func(number int64) (*record, error)
}

// decide is the version check with its idempotency rules: a write whose events
// are all stored already, where they would have to be, succeeds again.
func (s situation) decide(expected int64, ids []uuid.UUID) (verdict, error) {
	if s.tombstoned {
		return verdict{}, &deletedError{s.stream}
	}
	if expected == expectExists {
		if s.soft {
			return verdict{}, &deletedError{s.stream}
		}
		if s.last < 0 && !s.hasMeta {
			return verdict{}, s.wrong(expected)
		}
	}
	if expected == expectAny || expected == expectExists {
		return s.decideAny(expected, ids)
	}
	switch {
	case expected == s.last:
		return verdict{undelete: s.soft}, nil
	case expected > s.last:
		return verdict{}, s.wrong(expected)
	}
	return s.decidePast(expected, ids)
}

func (s situation) wrong(expected int64) error {
	return &wrongVersionError{s.stream, expected, s.last}
}

// decideAny accepts unless all ids are known; some of them known, but not the
// first, is appended again as a whole.
func (s situation) decideAny(expected int64, ids []uuid.UUID) (verdict, error) {
	var last recentEntry
	for i, id := range ids {
		entry, known := s.recent(id)
		switch {
		case known:
			last = entry
		case i == 0:
			return verdict{undelete: s.soft}, nil
		default:
			return verdict{}, s.wrong(expected)
		}
	}
	if len(ids) == 0 {
		return verdict{}, nil
	}
	return verdict{replay: true, replayed: last}, nil
}

// decidePast handles an expected revision that the stream has passed: a retry
// when exactly these events follow it, a conflict otherwise.
func (s situation) decidePast(expected int64, ids []uuid.UUID) (verdict, error) {
	var last recentEntry
	number := expected
	for i, id := range ids {
		number++
		stored, err := s.at(number)
		if err != nil {
			return verdict{}, err
		}
		if stored != nil && stored.id == id {
			last = recentEntry{stored.number, stored.pos}
			continue
		}
		if i == 0 && expected == expectNoStream && s.soft {
			return verdict{undelete: true}, nil
		}
		return verdict{}, s.wrong(expected)
	}
	if len(ids) == 0 {
		return verdict{}, s.wrong(expected)
	}
	return verdict{replay: true, replayed: last}, nil
}
