package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/google/uuid"
)

// ErrCorrupt is wrapped by every error about a stored record that cannot be
// read back. The text names the position. Restore the folder from a backup.
var ErrCorrupt = errors.New("corrupt record")

const (
	recordVersion  = 1
	flagJSON       = 1 << 0
	recordFixed    = 1 + 1 + 8 + 16 + 8
	recordChecksum = 4

	tombstoneNumber = int64(1<<63 - 1)
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// record is one stored event. It is shared between readers and never changes
// after the writer has published it.
type record struct {
	pos     uint64
	number  int64
	created int64 // ticks of 100 ns since 1970, as clients expect it
	id      uuid.UUID
	json    bool
	stream  string
	kind    string
	meta    []byte
	data    []byte
}

// size estimates the memory that the record holds.
func (r *record) size() int {
	return recordFixed + len(r.stream) + len(r.kind) + len(r.meta) + len(r.data)
}

// ticks converts a time to the protocol's unit.
func ticks(t time.Time) int64 { return t.UnixNano() / 100 }

func (r *record) encode() []byte {
	buf := make([]byte, 0, r.size()+4*binary.MaxVarintLen32+recordChecksum)
	var flags byte
	if r.json {
		flags |= flagJSON
	}
	buf = append(buf, recordVersion, flags)
	buf = binary.BigEndian.AppendUint64(buf, uint64(r.created))
	buf = append(buf, r.id[:]...)
	buf = binary.BigEndian.AppendUint64(buf, uint64(r.number))
	buf = append(binary.AppendUvarint(buf, uint64(len(r.stream))), r.stream...)
	buf = append(binary.AppendUvarint(buf, uint64(len(r.kind))), r.kind...)
	buf = append(binary.AppendUvarint(buf, uint64(len(r.meta))), r.meta...)
	buf = append(binary.AppendUvarint(buf, uint64(len(r.data))), r.data...)
	return binary.BigEndian.AppendUint32(buf, crc32.Checksum(buf, castagnoli))
}

// decodeRecord reads the record stored at pos. The result keeps parts of buf,
// which the caller must own.
func decodeRecord(pos uint64, buf []byte) (*record, error) {
	if len(buf) < recordFixed+recordChecksum {
		return nil, fmt.Errorf("%w at position %d: %d bytes", ErrCorrupt, pos, len(buf))
	}
	body, sum := buf[:len(buf)-recordChecksum], buf[len(buf)-recordChecksum:]
	if crc32.Checksum(body, castagnoli) != binary.BigEndian.Uint32(sum) {
		return nil, fmt.Errorf("%w at position %d: checksum differs", ErrCorrupt, pos)
	}
	if body[0] != recordVersion {
		return nil, fmt.Errorf("%w at position %d: unknown record version %d", ErrCorrupt, pos, body[0])
	}
	r := &record{pos: pos, json: body[1]&flagJSON != 0}
	r.created = int64(binary.BigEndian.Uint64(body[2:]))
	copy(r.id[:], body[10:])
	r.number = int64(binary.BigEndian.Uint64(body[26:]))
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
	r.stream, r.kind, r.meta, r.data = string(fields[0]), string(fields[1]), fields[2], fields[3]
	return r, nil
}
