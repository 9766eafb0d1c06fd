package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// ErrNoEvent says that there is no event with that number or position.
var ErrNoEvent = errors.New("no such event")

// LoadEvent reads the event at a position, or returns ErrNoEvent.
func LoadEvent(db pebble.Reader, pos uint64) (*Event, error) {
	value, closer, err := db.Get(EventKey(pos))
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, ErrNoEvent
	}
	if err != nil {
		return nil, Unreadable("at", pos, err)
	}
	defer func() { _ = closer.Close() }() // gives back memory
	return Decode(pos, bytes.Clone(value))
}

// LoadNumber reads the event of a stream with a number, or returns ErrNoEvent.
func LoadNumber(db pebble.Reader, stream string, number int64) (*Event, error) {
	value, closer, err := db.Get(IndexKey(stream, number))
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, ErrNoEvent
	}
	if err != nil {
		return nil, fmt.Errorf("read index of stream %q at %d: %w", stream, number, err)
	}
	pos := binary.BigEndian.Uint64(value)
	_ = closer.Close() // gives back memory
	return LoadEvent(db, pos)
}

// Unreadable is the error of a read that Pebble could not serve, at or before a
// position.
func Unreadable(where string, pos uint64, err error) error {
	cause, corrupt := Cause(err)
	if corrupt {
		return fmt.Errorf("%w %s position %d: %w", ErrCorrupt, where, pos, cause)
	}
	return fmt.Errorf("read event %s position %d: %w", where, pos, cause)
}

// Cause is an error of Pebble in one line, and whether it means damage.
// Pebble joins a damage to its whereabouts, which nobody can read.
func Cause(err error) (cause error, corrupt bool) {
	corrupt = pebble.IsCorruptionError(err)
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		err = joined.Unwrap()[0]
	}
	return err, corrupt
}

// NewIter iterates over the events from a position on.
func NewIter(db pebble.Reader, from uint64) (*pebble.Iterator, error) {
	iter, err := db.NewIter(
		&pebble.IterOptions{LowerBound: EventKey(from), UpperBound: []byte{familyEvent + 1}},
	)
	if err != nil {
		return nil, fmt.Errorf("read log: %w", err)
	}
	return iter, nil
}

// EndOfLog is behind the position of every event.
const EndOfLog = ^uint64(0)

// FirstPosition is the place of the first event. No event is at 0, which means the start.
const FirstPosition = 64
