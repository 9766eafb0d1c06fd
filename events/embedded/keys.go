package embedded

import "encoding/binary"

// Key families. Integers are big endian so that byte order is numeric order.
//
//	0x00 name                          facts about the store
//	0x01 position                      event
//	0x02 uvarint(len) stream number    position of that event
//	0x03 stream                        streamState
//
// The length before the stream name keeps the numbers of one stream adjacent
// and keeps a stream apart from streams whose names start with its name.
const (
	familyStore byte = iota
	familyEvent
	familyIndex
	familyState
)

const eventKeySize = 1 + 8

var countersKey = []byte{familyStore, 'c', 'o', 'u', 'n', 't', 's'}

func eventKey(pos uint64) []byte {
	key := make([]byte, 1, eventKeySize)
	key[0] = familyEvent
	return binary.BigEndian.AppendUint64(key, pos)
}

func positionOf(eventKey []byte) uint64 {
	return binary.BigEndian.Uint64(eventKey[1:])
}

func indexKey(stream string, number int64) []byte {
	key := make([]byte, 1, 1+binary.MaxVarintLen32+len(stream)+8)
	key[0] = familyIndex
	key = binary.AppendUvarint(key, uint64(len(stream)))
	key = append(key, stream...)
	return binary.BigEndian.AppendUint64(key, uint64(number))
}

// indexEnd is the first key after the entry of number. It differs from the
// entry's own key by a trailing zero, because the tombstone's number is the
// largest there is and has no successor.
func indexEnd(stream string, number int64) []byte {
	return append(indexKey(stream, number), 0)
}

func stateKey(stream string) []byte {
	key := make([]byte, 1, 1+len(stream))
	key[0] = familyState
	return append(key, stream...)
}
