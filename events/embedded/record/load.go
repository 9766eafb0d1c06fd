package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// ErrNoEvent is returned if there is no event with a number or at a position.
var ErrNoEvent = errors.New("no such event")

// LoadEvent reads the event at a position, or returns ErrNoEvent.
func LoadEvent(db pebble.Reader, pos uint64) (*Event, error) {
	value, closer, err := db.Get(EventKey(pos))
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, ErrNoEvent
	}
	if err != nil {
		return nil, ReadError("at", pos, err)
	}
	defer func() { _ = closer.Close() }() // it only releases memory
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
	_ = closer.Close() // it only releases memory
	return LoadEvent(db, pos)
}

// ReadError returns the error of a read that failed with err. where says whether the read failed
// "at" or "before" the position. The result wraps ErrCorrupt if err means corruption.
func ReadError(where string, pos uint64, err error) error {
	cause, corrupt := Cause(err)
	if corrupt {
		return fmt.Errorf("%w %s position %d: %w", ErrCorrupt, where, pos, cause)
	}
	return fmt.Errorf("read event %s position %d: %w", where, pos, cause)
}

// Cause returns an error of Pebble without its details, and whether it means corruption. Pebble
// joins the error of a corruption with many lines of details.
func Cause(err error) (cause error, corrupt bool) {
	corrupt = pebble.IsCorruptionError(err)
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		err = joined.Unwrap()[0]
	}
	return err, corrupt
}

// NewIter returns an iterator over the events from a position on.
func NewIter(db pebble.Reader, from uint64) (*pebble.Iterator, error) {
	iter, err := db.NewIter(
		&pebble.IterOptions{LowerBound: EventKey(from), UpperBound: []byte{familyEvent + 1}},
	)
	if err != nil {
		return nil, fmt.Errorf("read log: %w", err)
	}
	return iter, nil
}

// EndOfLog is above the position of every event.
const EndOfLog = ^uint64(0)

// FirstPosition is the position of the first event. No event is at 0, because 0 means the start
// of the log.
const FirstPosition = 64
