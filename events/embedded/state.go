package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2"
)

const (
	metadataPrefix = "$$"
	noEvents       = int64(-1)

	stateSize  = 1 + 8 + 8 + 8 + limitsSize
	limitsSize = 3 * 8

	flagTombstoned = 1 << 0
)

// streamState is what must be known of a stream to decide a write or to start
// a read. The metadata of stream x is kept here, parsed, with x.
type streamState struct {
	last       int64  // number of the last event before any tombstone, or noEvents
	tombstoned bool   //
	changed    uint64 // position of the last record that changed this state
	metaPos    uint64 // position of the current metadata record; 0 when there never was one
	limits     limits
}

// isMetadataStream tells whether the stream holds the metadata of another one.
func isMetadataStream(stream string) bool { return strings.HasPrefix(stream, metadataPrefix) }

func (s *streamState) softDeleted() bool { return s.limits.truncateBefore == tombstoneNumber }

func (s *streamState) encode() []byte {
	buf := make([]byte, 1, stateSize)
	if s.tombstoned {
		buf[0] |= flagTombstoned
	}
	for _, v := range []uint64{
		uint64(s.last), s.changed, s.metaPos,
		uint64(s.limits.truncateBefore), uint64(s.limits.maxCount), uint64(s.limits.maxAge),
	} {
		buf = binary.BigEndian.AppendUint64(buf, v)
	}
	return buf
}

func decodeState(stream string, buf []byte) (*streamState, error) {
	if len(buf) != stateSize {
		return nil, fmt.Errorf("%w: state of stream %q has %d bytes", ErrCorrupt, stream, len(buf))
	}
	at := func(i int) uint64 { return binary.BigEndian.Uint64(buf[1+8*i:]) }
	return &streamState{
		tombstoned: buf[0]&flagTombstoned != 0,
		last:       int64(at(0)),
		changed:    at(1),
		metaPos:    at(2),
		limits:     limits{truncateBefore: int64(at(3)), maxCount: int64(at(4)), maxAge: int64(at(5))},
	}, nil
}

// loadState reads the state of a stream from db. It may be ahead of the durable
// head; only the writer may use it as it is.
func loadState(db pebble.Reader, stream string) (*streamState, error) {
	value, closer, err := db.Get(stateKey(stream))
	if errors.Is(err, pebble.ErrNotFound) {
		return &streamState{last: noEvents}, nil
	}
	if err != nil {
		cause, corrupt := storageFault(err)
		if corrupt {
			return nil, fmt.Errorf("%w: state of stream %q: %w", ErrCorrupt, stream, cause)
		}
		return nil, fmt.Errorf("load state of stream %q: %w", stream, cause)
	}
	defer func() { _ = closer.Close() }() // gives back memory
	return decodeState(stream, value)
}

// stateCache keeps the states that the writer used last. It belongs to the
// writer's goroutine. Two generations approximate least-recently-used at the
// cost of two maps.
type stateCache struct {
	young, old map[string]*streamState
	limit      int
}

func newStateCache(limit int) *stateCache {
	return &stateCache{young: map[string]*streamState{}, old: map[string]*streamState{}, limit: limit}
}

func (c *stateCache) get(stream string) (*streamState, bool) {
	if st, ok := c.young[stream]; ok {
		return st, true
	}
	st, ok := c.old[stream]
	if ok {
		c.young[stream] = st
	}
	return st, ok
}

func (c *stateCache) add(stream string, st *streamState) { c.young[stream] = st }

// trim forgets the states that were not used lately. It must only be called
// between groups: a state changed by the group at hand is not in the database
// yet and would be read back stale.
func (c *stateCache) trim() {
	if len(c.young) > c.limit {
		c.young, c.old = make(map[string]*streamState, c.limit), c.young
	}
}
