package durable

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"linkledger/events/embedded/disk"
	"linkledger/events/embedded/record"
)

// State returns the durable state of a stream.
func (l *Log) State(ctx context.Context, stream string) (*record.StreamState, error) {
	st, err := l.durableState(ctx, stream)
	if err != nil || !record.IsMetadataStream(stream) {
		return st, err
	}
	origin, err := l.durableState(ctx, strings.TrimPrefix(stream, record.MetadataPrefix))
	if err != nil {
		return nil, err
	}
	st.Limits = record.MetadataStreamLimits
	st.Tombstoned = st.Tombstoned || origin.Tombstoned
	return st, nil
}

// durableState returns a state that no crash can erase. Pebble may return the state after a
// group of writes that is still being synced. Then durableState waits for the sync. If the sync
// fails, it reconstructs the state at the durable head from the log.
func (l *Log) durableState(ctx context.Context, stream string) (*record.StreamState, error) {
	st, err := record.LoadState(l.db, stream)
	if err != nil {
		return nil, err
	}
	err = l.awaitDurable(ctx, st.Changed)
	if errors.Is(err, disk.ErrFailed) {
		return l.stateAt(stream, l.Head())
	}
	return st, err
}

// awaitDurable waits until the event at pos is durable.
func (l *Log) awaitDurable(ctx context.Context, pos uint64) error {
	for {
		changed := l.Wait()
		if pos <= l.Head() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-l.db.Failed():
			return l.db.Err()
		}
	}
}

// stateAt reconstructs the state that a stream had when the log ended at head.
func (l *Log) stateAt(stream string, head uint64) (*record.StreamState, error) {
	st := &record.StreamState{Last: record.NoEvents, Changed: head}
	err := l.eachBackwards(stream, head, func(number int64, _ uint64) bool {
		if number == record.TombstoneNumber {
			st.Tombstoned = true
			return true
		}
		st.Last = number
		return false
	})
	if err != nil {
		return nil, err
	}
	err = l.eachBackwards(record.MetadataPrefix+stream, head, func(_ int64, pos uint64) bool {
		st.MetaPos = pos
		return false
	})
	if err != nil || st.MetaPos == 0 {
		return st, err
	}
	meta, err := record.LoadEvent(l.db, st.MetaPos)
	if err != nil {
		return nil, err
	}
	st.Limits = record.ParseLimits(meta)
	return st, nil
}

// eachBackwards calls visit for the events of a stream up to head, the last one first, until visit
// returns false.
func (l *Log) eachBackwards(
	stream string, head uint64, visit func(number int64, pos uint64) bool,
) (err error) {
	iter, err := l.db.NewIter(&pebble.IterOptions{
		LowerBound: record.IndexKey(stream, 0),
		UpperBound: record.IndexEnd(stream, record.TombstoneNumber),
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
