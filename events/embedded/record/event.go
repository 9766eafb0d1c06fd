// Package record defines how events, their index, the states of streams and the counters are stored
// as keys and values. It loads single values.
package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/google/uuid"
)

// ErrCorrupt is wrapped by every error about a stored record that cannot be read back. The message
// of the error says which record it is. The remedy is to restore the folder from a backup.
var ErrCorrupt = errors.New("corrupt record")

const (
	recordVersion  = 1
	flagJSON       = 1 << 0
	recordFixed    = 1 + 1 + 8 + 16 + 8
	recordChecksum = 4
)

// TombstoneNumber is the number of the tombstone of every stream.
const TombstoneNumber = int64(1<<63 - 1)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Event is one stored event. Readers share it, so it MUST NOT change after the writer has published
// it.
type Event struct {
	Position uint64
	Number   int64
	Created  int64 // ticks of 100 ns since 1970, the unit of the protocol
	ID       uuid.UUID
	JSON     bool
	Stream   string
	Type     string
	Metadata []byte
	Data     []byte
}

// Size returns an estimate of the memory of the event in bytes.
func (r *Event) Size() int {
	return recordFixed + len(r.Stream) + len(r.Type) + len(r.Metadata) + len(r.Data)
}

// Ticks returns a time in the unit of the protocol.
func Ticks(t time.Time) int64 { return t.UnixNano() / 100 }

// Encode returns the value to store.
func (r *Event) Encode() []byte {
	buf := make([]byte, 0, r.Size()+4*binary.MaxVarintLen32+recordChecksum)
	var flags byte
	if r.JSON {
		flags |= flagJSON
	}
	buf = append(buf, recordVersion, flags)
	buf = binary.BigEndian.AppendUint64(buf, uint64(r.Created))
	buf = append(buf, r.ID[:]...)
	buf = binary.BigEndian.AppendUint64(buf, uint64(r.Number))
	buf = append(binary.AppendUvarint(buf, uint64(len(r.Stream))), r.Stream...)
	buf = append(binary.AppendUvarint(buf, uint64(len(r.Type))), r.Type...)
	buf = append(binary.AppendUvarint(buf, uint64(len(r.Metadata))), r.Metadata...)
	buf = append(binary.AppendUvarint(buf, uint64(len(r.Data))), r.Data...)
	return binary.BigEndian.AppendUint32(buf, crc32.Checksum(buf, castagnoli))
}

// Decode decodes the value stored at pos. The event refers to parts of buf, so the caller MUST own
// buf and MUST NOT change it.
func Decode(pos uint64, buf []byte) (*Event, error) {
	if len(buf) < recordFixed+recordChecksum {
		return nil, fmt.Errorf("%w at position %d: %d bytes", ErrCorrupt, pos, len(buf))
	}
	body, sum := buf[:len(buf)-recordChecksum], buf[len(buf)-recordChecksum:]
	if crc32.Checksum(body, castagnoli) != binary.BigEndian.Uint32(sum) {
		return nil, fmt.Errorf("%w at position %d: checksum differs", ErrCorrupt, pos)
	}
	if body[0] != recordVersion {
		return nil, fmt.Errorf(
			"%w at position %d: unknown record version %d", ErrCorrupt, pos, body[0],
		)
	}
	r := &Event{Position: pos, JSON: body[1]&flagJSON != 0}
	r.Created = int64(binary.BigEndian.Uint64(body[2:]))
	copy(r.ID[:], body[10:])
	r.Number = int64(binary.BigEndian.Uint64(body[26:]))
	rest := body[recordFixed:]
	var fields [4][]byte
	for i := range fields {
		n, width := binary.Uvarint(rest)
		if width <= 0 || n > uint64(len(rest)-width) {
			return nil, fmt.Errorf("%w at position %d: field %d is cut short", ErrCorrupt, pos, i)
		}
		end := width + int(n)
		fields[i], rest = rest[width:end:end], rest[end:]
	}
	r.Stream, r.Type = string(fields[0]), string(fields[1])
	r.Metadata, r.Data = fields[2], fields[3]
	return r, nil
}
