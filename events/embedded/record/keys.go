package record

import "encoding/binary"

// Key families. Integers are big endian, so that byte order is numeric order.
//
//	0x00 name                          values of the whole store, such as the counters
//	0x01 position                      event
//	0x02 uvarint(len) stream number    position of that event
//	0x03 stream                        StreamState
//
// The length before the stream name keeps the numbers of one stream adjacent. It also separates a
// stream from streams whose names start with its name.
const (
	familyStore byte = iota
	familyEvent
	FamilyIndex
	FamilyState
)

// EventKeySize is the length of each EventKey.
const EventKeySize = 1 + 8

// CountersKey is the key of the counters.
var CountersKey = []byte{familyStore, 'c', 'o', 'u', 'n', 't', 's'}

// EventKey returns the key of the event at a position.
func EventKey(pos uint64) []byte {
	key := make([]byte, 1, EventKeySize)
	key[0] = familyEvent
	return binary.BigEndian.AppendUint64(key, pos)
}

// PositionOf returns the position in an EventKey.
func PositionOf(eventKey []byte) uint64 {
	return binary.BigEndian.Uint64(eventKey[1:])
}

// IndexKey returns the key of the index entry of an event. The value is the position of the event.
func IndexKey(stream string, number int64) []byte {
	key := make([]byte, 1, 1+binary.MaxVarintLen32+len(stream)+8)
	key[0] = FamilyIndex
	key = binary.AppendUvarint(key, uint64(len(stream)))
	key = append(key, stream...)
	return binary.BigEndian.AppendUint64(key, uint64(number))
}

// IndexEnd returns the first key after the entry of number. It is the key of the entry with a
// trailing zero, because the number of a tombstone is the largest one and has no successor.
func IndexEnd(stream string, number int64) []byte {
	return append(IndexKey(stream, number), 0)
}

// StateKey returns the key of the state of a stream.
func StateKey(stream string) []byte {
	key := make([]byte, 1, 1+len(stream))
	key[0] = FamilyState
	return append(key, stream...)
}
