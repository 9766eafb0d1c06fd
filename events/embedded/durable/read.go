package durable

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"linkledger/events/embedded/record"
)

// PageEvents is the maximum number of events in a page.
const PageEvents = 256

const pageBytes = 1 << 20

// Page returns events of the log between two positions, both inclusive. It begins at low, or at
// high if backwards is true. An empty page means that there are no more events.
func (l *Log) Page(low, high uint64, backwards bool) (page []*record.Event, err error) {
	upper := append(record.EventKey(high), 0)
	iter, err := l.db.NewIter(
		&pebble.IterOptions{LowerBound: record.EventKey(low), UpperBound: upper},
	)
	if err != nil {
		return nil, fmt.Errorf("read log: %w", err)
	}
	where, at := "at", low // next position to read, for the error
	start, step := iter.First, iter.Next
	if backwards {
		where, at, start, step = "before", high, iter.Last, iter.Prev
	}
	defer func() {
		if failed := iter.Close(); failed != nil {
			page, err = nil, record.ReadError(where, at, failed)
		}
	}()
	size := 0
	for ok := start(); ok && len(page) < PageEvents && size < pageBytes; ok = step() {
		pos := record.PositionOf(iter.Key())
		value, err := iter.ValueAndErr()
		if err != nil {
			return nil, record.ReadError("at", pos, err)
		}
		rec, err := record.Decode(pos, bytes.Clone(value))
		if err != nil {
			return nil, err
		}
		if at = pos; !backwards {
			at += uint64(record.EventKeySize + len(value))
		}
		page = append(page, rec)
		size += rec.Size()
	}
	return page, nil
}

// StreamPage is Page for one stream. low and high are event numbers. It returns at most limit
// events.
func (l *Log) StreamPage(
	stream string, low, high int64, backwards bool, limit uint64,
) ([]*record.Event, error) {
	positions, err := l.positions(stream, low, high, backwards, int(min(limit, PageEvents)))
	if err != nil {
		return nil, err
	}
	page := make([]*record.Event, 0, len(positions))
	size := 0
	for _, pos := range positions {
		rec, err := record.LoadEvent(l.db, pos)
		if errors.Is(err, record.ErrNoEvent) {
			return nil, fmt.Errorf("%w at position %d: indexed by stream %q but missing",
				record.ErrCorrupt, pos, stream)
		}
		if err != nil {
			return nil, err
		}
		page = append(page, rec)
		if size += rec.Size(); size >= pageBytes {
			break
		}
	}
	return page, nil
}

// positions returns the positions of at most limit events of a stream, with numbers from low to
// high.
func (l *Log) positions(
	stream string, low, high int64, backwards bool, limit int,
) (found []uint64, err error) {
	iter, err := l.db.NewIter(&pebble.IterOptions{
		LowerBound: record.IndexKey(stream, low), UpperBound: record.IndexEnd(stream, high),
	})
	if err != nil {
		return nil, fmt.Errorf("read stream %q: %w", stream, err)
	}
	defer func() { err = errors.Join(err, iter.Close()) }()
	start, step := iter.First, iter.Next
	if backwards {
		start, step = iter.Last, iter.Prev
	}
	for ok := start(); ok && len(found) < limit; ok = step() {
		value, err := iter.ValueAndErr()
		if err != nil {
			return nil, fmt.Errorf("read stream %q: %w", stream, err)
		}
		found = append(found, binary.BigEndian.Uint64(value))
	}
	return found, nil
}

// CheckPosition returns ErrInsideEvent if pos is inside a record. Such a position is always a
// mistake of the client: to continue after an event, the client must pass the position of the
// event, not the next number. 0 and positions beyond the end of the log are valid.
func (l *Log) CheckPosition(pos uint64) error {
	if pos == 0 || pos > l.Head() {
		return nil
	}
	_, closer, err := l.db.Get(record.EventKey(pos))
	if errors.Is(err, pebble.ErrNotFound) {
		return ErrInsideEvent
	}
	if err != nil {
		return fmt.Errorf("read position %d: %w", pos, err)
	}
	return closer.Close()
}

// Tombstone returns the event that ended a stream.
func (l *Log) Tombstone(stream string) (*record.Event, error) {
	return record.LoadNumber(l.db, stream, record.TombstoneNumber)
}
