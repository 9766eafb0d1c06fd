package embedded

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2"
)

const (
	pageEvents = 256
	pageBytes  = 1 << 20
)

// errNoEvent says that there is no event with that number or position.
var errNoEvent = errors.New("no such event")

func loadEvent(db pebble.Reader, pos uint64) (*record, error) {
	value, closer, err := db.Get(eventKey(pos))
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, errNoEvent
	}
	if err != nil {
		return nil, unreadable("at", pos, err)
	}
	defer func() { _ = closer.Close() }() // gives back memory
	return decodeRecord(pos, bytes.Clone(value))
}

func loadNumber(db pebble.Reader, stream string, number int64) (*record, error) {
	value, closer, err := db.Get(indexKey(stream, number))
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, errNoEvent
	}
	if err != nil {
		return nil, fmt.Errorf("read index of stream %q at %d: %w", stream, number, err)
	}
	pos := binary.BigEndian.Uint64(value)
	_ = closer.Close() // gives back memory
	return loadEvent(db, pos)
}

// unreadable is the error of a read that Pebble could not serve, at or before a
// position.
func unreadable(where string, pos uint64, err error) error {
	cause, corrupt := storageFault(err)
	if corrupt {
		return fmt.Errorf("%w %s position %d: %w", ErrCorrupt, where, pos, cause)
	}
	return fmt.Errorf("read event %s position %d: %w", where, pos, cause)
}

// storageFault is an error of Pebble in one line, and whether it means damage.
// Pebble joins a damage to its whereabouts, which nobody can read.
func storageFault(err error) (cause error, corrupt bool) {
	corrupt = pebble.IsCorruptionError(err)
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		err = joined.Unwrap()[0]
	}
	return err, corrupt
}

// pageAll returns a page of the log between two positions, both inclusive, from
// the low end or, backwards, from the high end. An empty page means the end.
func (s *Store) pageAll(low, high uint64, backwards bool) (page []*record, err error) {
	upper := append(eventKey(high), 0)
	iter, err := s.db.NewIter(&pebble.IterOptions{LowerBound: eventKey(low), UpperBound: upper})
	if err != nil {
		return nil, fmt.Errorf("read log: %w", err)
	}
	where, at := "at", low // what is read next
	start, step := iter.First, iter.Next
	if backwards {
		where, at, start, step = "before", high, iter.Last, iter.Prev
	}
	defer func() {
		if failed := iter.Close(); failed != nil {
			page, err = nil, unreadable(where, at, failed)
		}
	}()
	size := 0
	for ok := start(); ok && len(page) < pageEvents && size < pageBytes; ok = step() {
		pos := positionOf(iter.Key())
		value, err := iter.ValueAndErr()
		if err != nil {
			return nil, unreadable("at", pos, err)
		}
		rec, err := decodeRecord(pos, bytes.Clone(value))
		if err != nil {
			return nil, err
		}
		if at = pos; !backwards {
			at += uint64(eventKeySize + len(value))
		}
		page = append(page, rec)
		size += rec.size()
	}
	return page, nil
}

// pageStream is pageAll for the numbers of one stream.
func (s *Store) pageStream(stream string, low, high int64, backwards bool, limit uint64) ([]*record, error) {
	positions, err := s.positions(stream, low, high, backwards, int(min(limit, pageEvents)))
	if err != nil {
		return nil, err
	}
	page := make([]*record, 0, len(positions))
	size := 0
	for _, pos := range positions {
		rec, err := loadEvent(s.db, pos)
		if errors.Is(err, errNoEvent) {
			return nil, fmt.Errorf("%w at position %d: indexed by stream %q but missing", ErrCorrupt, pos, stream)
		}
		if err != nil {
			return nil, err
		}
		page = append(page, rec)
		if size += rec.size(); size >= pageBytes {
			break
		}
	}
	return page, nil
}

// positions looks up where the events of a stream are.
func (s *Store) positions(stream string, low, high int64, backwards bool, limit int) (found []uint64, err error) {
	iter, err := s.db.NewIter(&pebble.IterOptions{
		LowerBound: indexKey(stream, low), UpperBound: indexEnd(stream, high),
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

// hiddenFromAll tells which streams never show in $all: the bookkeeping of
// persistent subscriptions to $all itself.
func hiddenFromAll(stream string) bool {
	if stream == "$epoch-information" {
		return true
	}
	return strings.HasPrefix(stream, "$persistentsubscription-$all::") &&
		(strings.HasSuffix(stream, "-checkpoint") || strings.HasSuffix(stream, "-parked"))
}
