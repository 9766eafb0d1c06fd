package embedded

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2"
)

// durableState returns the state of a stream as readers may see it.
func (s *Store) durableState(ctx context.Context, stream string) (*streamState, error) {
	st, err := s.settledState(ctx, stream)
	if err != nil || !isMetadataStream(stream) {
		return st, err
	}
	origin, err := s.settledState(ctx, strings.TrimPrefix(stream, metadataPrefix))
	if err != nil {
		return nil, err
	}
	st.limits = metadataStreamLimits
	st.tombstoned = st.tombstoned || origin.tombstoned
	return st, nil
}

// settledState returns a state that no crash can take back. Pebble may show one
// whose group is still being synced; then that is awaited. When the sync fails,
// the state before it is put together from the log.
func (s *Store) settledState(ctx context.Context, stream string) (*streamState, error) {
	st, err := loadState(s.db, stream)
	if err != nil {
		return nil, err
	}
	err = s.awaitDurable(ctx, st.changed)
	if errors.Is(err, ErrFailed) {
		return s.rewind(stream, s.tail.head.Load())
	}
	return st, err
}

// awaitDurable returns once the event at pos is durable.
func (s *Store) awaitDurable(ctx context.Context, pos uint64) error {
	for {
		changed := s.tail.wait()
		if pos <= s.tail.head.Load() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.writer.failed:
			return s.writer.err()
		}
	}
}

// rewind returns the state that a stream had when the log ended at head.
func (s *Store) rewind(stream string, head uint64) (*streamState, error) {
	st := &streamState{last: noEvents, changed: head}
	err := s.eachBackwards(stream, head, func(number int64, _ uint64) bool {
		if number == tombstoneNumber {
			st.tombstoned = true
			return true
		}
		st.last = number
		return false
	})
	if err != nil {
		return nil, err
	}
	err = s.eachBackwards(metadataPrefix+stream, head, func(_ int64, pos uint64) bool {
		st.metaPos = pos
		return false
	})
	if err != nil || st.metaPos == 0 {
		return st, err
	}
	meta, err := loadEvent(s.db, st.metaPos)
	if err != nil {
		return nil, err
	}
	st.limits = parseLimits(meta)
	return st, nil
}

// eachBackwards visits the events of a stream up to head, the last one first,
// while visit returns true.
func (s *Store) eachBackwards(stream string, head uint64, visit func(number int64, pos uint64) bool) (err error) {
	iter, err := s.db.NewIter(&pebble.IterOptions{
		LowerBound: indexKey(stream, 0), UpperBound: indexEnd(stream, tombstoneNumber),
	})
	if err != nil {
		return fmt.Errorf("read stream %q: %w", stream, err)
	}
	defer func() { err = errors.Join(err, iter.Close()) }()
	for ok := iter.Last(); ok; ok = iter.Prev() {
		value, err := iter.ValueAndErr()
		if err != nil {
			return fmt.Errorf("read stream %q: %w", stream, err)
		}
		key := iter.Key()
		number := int64(binary.BigEndian.Uint64(key[len(key)-8:]))
		if pos := binary.BigEndian.Uint64(value); pos <= head && !visit(number, pos) {
			return nil
		}
	}
	return nil
}
