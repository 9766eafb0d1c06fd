package embedded

import (
	"encoding/binary"
	"strconv"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// encoded is a message that is encoded already. Events go out this way: building
// and walking protobuf structs costs as much as everything else of a read.
type encoded []byte

// codec sends what is encoded as it is, and all else as protobuf does.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(proto.Name)} }

// Marshal implements encoding.CodecV2.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if message, ok := v.(encoded); ok {
		return mem.BufferSlice{mem.SliceBuffer(message)}, nil
	}
	return c.CodecV2.Marshal(v)
}

// Numbers of the fields of ReadResp and of the messages in it.
const (
	fieldEvent = 1 // of ReadResp, and of its ReadEvent

	fieldReadCommit = 3 // of ReadEvent

	fieldID       = 1 // of RecordedEvent, like those that follow
	fieldStream   = 2
	fieldRevision = 3
	fieldPrepare  = 4
	fieldCommit   = 5
	fieldSystem   = 6
	fieldMetadata = 7
	fieldData     = 8

	fieldStructured = 1 // of UUID
	fieldString     = 2
	fieldHigh       = 1 // of its structured form
	fieldLow        = 2
	fieldName       = 3 // of StreamIdentifier
	fieldKey        = 1 // of an entry of a map
	fieldValue      = 2
)

// encodeEvent encodes the ReadResp of an event that was not reached by a link:
// the same bytes that wireRecord's message has, but for the order of the map.
// scratch is room that is used again; it is returned.
func encodeEvent(r *record, stringIDs bool, scratch []byte) (message encoded, room []byte) {
	body := appendID(scratch[:0], r, stringIDs)
	body = protowire.AppendTag(body, fieldStream, protowire.BytesType)
	body = protowire.AppendVarint(body, uint64(1+protowire.SizeBytes(len(r.stream))))
	body = appendString(body, fieldName, r.stream)
	body = appendNumber(body, fieldRevision, uint64(r.number))
	body = appendNumber(body, fieldPrepare, r.pos)
	body = appendNumber(body, fieldCommit, r.pos)
	content := contentBinary
	if r.json {
		content = contentJSON
	}
	body = appendEntry(body, "type", r.kind)
	body = appendEntry(body, "created", strconv.FormatInt(r.created, 10))
	body = appendEntry(body, "content-type", content)
	if len(r.meta) > 0 {
		body = protowire.AppendTag(body, fieldMetadata, protowire.BytesType)
		body = protowire.AppendBytes(body, r.meta)
	}
	if len(r.data) > 0 {
		body = protowire.AppendTag(body, fieldData, protowire.BytesType)
		body = protowire.AppendBytes(body, r.data)
	}

	size := 1 + protowire.SizeBytes(len(body)) + 1 + protowire.SizeVarint(r.pos) // of ReadEvent
	out := make([]byte, 0, 1+protowire.SizeBytes(size))
	out = protowire.AppendTag(out, fieldEvent, protowire.BytesType)
	out = protowire.AppendVarint(out, uint64(size))
	out = protowire.AppendTag(out, fieldEvent, protowire.BytesType)
	out = protowire.AppendBytes(out, body)
	out = protowire.AppendTag(out, fieldReadCommit, protowire.VarintType)
	return protowire.AppendVarint(out, r.pos), body
}

func appendID(body []byte, r *record, asString bool) []byte {
	body = protowire.AppendTag(body, fieldID, protowire.BytesType)
	if asString {
		text := r.id.String()
		body = protowire.AppendVarint(body, uint64(1+protowire.SizeBytes(len(text))))
		return appendString(body, fieldString, text)
	}
	high, low := binary.BigEndian.Uint64(r.id[:8]), binary.BigEndian.Uint64(r.id[8:])
	var bits []byte
	bits = appendNumber(bits, fieldHigh, high)
	bits = appendNumber(bits, fieldLow, low)
	body = protowire.AppendVarint(body, uint64(1+protowire.SizeBytes(len(bits))))
	body = protowire.AppendTag(body, fieldStructured, protowire.BytesType)
	return protowire.AppendBytes(body, bits)
}

// appendNumber leaves out zero, as protobuf does.
func appendNumber(b []byte, field protowire.Number, n uint64) []byte {
	if n == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), n)
}

func appendString(b []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
}

func appendEntry(b []byte, key, value string) []byte {
	b = protowire.AppendTag(b, fieldSystem, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(1+protowire.SizeBytes(len(key))+1+protowire.SizeBytes(len(value))))
	return appendString(appendString(b, fieldKey, key), fieldValue, value)
}
