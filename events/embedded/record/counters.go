package record

import (
	"encoding/binary"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Counters are the numbers of events and streams in the log. They are stored beside the events, so
// that they can be read without a scan.
type Counters struct{ Events, Streams uint64 }

// Encode returns the value to store.
func (c Counters) Encode() []byte {
	buf := binary.BigEndian.AppendUint64(make([]byte, 0, 16), c.Events)
	return binary.BigEndian.AppendUint64(buf, c.Streams)
}

func decodeCounters(buf []byte) (Counters, error) {
	if len(buf) != 16 {
		return Counters{}, fmt.Errorf("%w: counters have %d bytes", ErrCorrupt, len(buf))
	}
	return Counters{binary.BigEndian.Uint64(buf), binary.BigEndian.Uint64(buf[8:])}, nil
}

// LoadCounters reads the counters. It returns pebble.ErrNotFound if the database has no log.
func LoadCounters(db pebble.Reader) (Counters, error) {
	value, closer, err := db.Get(CountersKey)
	if err != nil {
		cause, _ := Cause(err)
		return Counters{}, fmt.Errorf("read counters: %w", cause)
	}
	defer func() { _ = closer.Close() }() // it only releases memory
	return decodeCounters(value)
}
