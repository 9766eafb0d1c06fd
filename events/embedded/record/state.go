package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2"
)

// MetadataPrefix is the prefix of the names of metadata streams. The rest of the name is the stream
// that the metadata describes.
const MetadataPrefix = "$$"

// NoEvents is the number of the last event of a stream without events.
const NoEvents = int64(-1)

const (
	stateSize  = 1 + 8 + 8 + 8 + limitsSize
	limitsSize = 3 * 8

	flagTombstoned = 1 << 0
)

// StreamState is the state of a stream. Every decision on a write and every read of the stream
// begins with it. It includes the limits from the metadata of the stream.
type StreamState struct {
	Last       int64 // number of the last event other than a tombstone, or NoEvents
	Tombstoned bool
	Changed    uint64 // position of the last event that changed this state
	MetaPos    uint64 // position of the current metadata event, or 0 if there is none
	Limits     Limits
}

// IsMetadataStream reports whether the stream holds the metadata of another one.
func IsMetadataStream(stream string) bool { return strings.HasPrefix(stream, MetadataPrefix) }

// SoftDeleted reports whether the events of the stream are hidden until it is written to again.
func (s *StreamState) SoftDeleted() bool { return s.Limits.truncateBefore == TombstoneNumber }

// Encode returns the value to store.
func (s *StreamState) Encode() []byte {
	buf := make([]byte, 1, stateSize)
	if s.Tombstoned {
		buf[0] |= flagTombstoned
	}
	for _, v := range []uint64{
		uint64(s.Last), s.Changed, s.MetaPos,
		uint64(s.Limits.truncateBefore), uint64(s.Limits.maxCount), uint64(s.Limits.maxAge),
	} {
		buf = binary.BigEndian.AppendUint64(buf, v)
	}
	return buf
}

func decodeState(stream string, buf []byte) (*StreamState, error) {
	if len(buf) != stateSize {
		return nil, fmt.Errorf("%w: state of stream %q has %d bytes", ErrCorrupt, stream, len(buf))
	}
	at := func(i int) uint64 { return binary.BigEndian.Uint64(buf[1+8*i:]) }
	return &StreamState{
		Tombstoned: buf[0]&flagTombstoned != 0,
		Last:       int64(at(0)),
		Changed:    at(1),
		MetaPos:    at(2),
		Limits: Limits{
			truncateBefore: int64(at(3)), maxCount: int64(at(4)), maxAge: int64(at(5)),
		},
	}, nil
}

// LoadState reads the state of a stream from db. If the stream was never written to, Last is
// NoEvents. The state may include writes that a crash can still erase, so readers MUST use
// durable.Log.State instead.
func LoadState(db pebble.Reader, stream string) (*StreamState, error) {
	value, closer, err := db.Get(StateKey(stream))
	if errors.Is(err, pebble.ErrNotFound) {
		return &StreamState{Last: NoEvents}, nil
	}
	if err != nil {
		cause, corrupt := Cause(err)
		if corrupt {
			return nil, fmt.Errorf("%w: state of stream %q: %w", ErrCorrupt, stream, cause)
		}
		return nil, fmt.Errorf("load state of stream %q: %w", stream, cause)
	}
	defer func() { _ = closer.Close() }() // it only releases memory
	return decodeState(stream, value)
}
