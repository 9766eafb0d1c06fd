// Package wire builds and encodes the responses to clients.
package wire

import (
	"encoding/binary"
	"strconv"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"linkledger/events/embedded/record"
)

// Encoded is an encoded message. Events are encoded by hand, because building and encoding protobuf
// structs would take as long as the rest of a read.
type Encoded []byte

// codec sends an Encoded unchanged and encodes all other messages with protobuf.
type codec struct{ encoding.CodecV2 }

// NewCodec returns a codec that can send an Encoded.
func NewCodec() encoding.CodecV2 { return codec{encoding.GetCodecV2(proto.Name)} }

// Marshal implements encoding.CodecV2.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if message, ok := v.(Encoded); ok {
		return mem.BufferSlice{mem.SliceBuffer(message)}, nil
	}
	return c.CodecV2.Marshal(v)
}

// Numbers of the fields of ReadResp and of the messages in it.
const (
	fieldEvent = 1 // of ReadResp, and of its ReadEvent

	fieldReadCommit = 3 // of ReadEvent

	fieldID       = 1 // of RecordedEvent, up to fieldData
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

// EncodeEvent encodes the ReadResp of an event without a link. The bytes equal the encoded protobuf
// message, except for the order of the map. EncodeEvent uses the buffer scratch, and returns it as
// buf for the next call.
func EncodeEvent(r *record.Event, stringIDs bool, scratch []byte) (message Encoded, buf []byte) {
	body := appendID(scratch[:0], r, stringIDs)
	body = protowire.AppendTag(body, fieldStream, protowire.BytesType)
	body = protowire.AppendVarint(body, uint64(1+protowire.SizeBytes(len(r.Stream))))
	body = appendString(body, fieldName, r.Stream)
	body = appendNumber(body, fieldRevision, uint64(r.Number))
	body = appendNumber(body, fieldPrepare, r.Position)
	body = appendNumber(body, fieldCommit, r.Position)
	content := record.ContentBinary
	if r.JSON {
		content = record.ContentJSON
	}
	body = appendEntry(body, "type", r.Type)
	body = appendEntry(body, "created", strconv.FormatInt(r.Created, 10))
	body = appendEntry(body, "content-type", content)
	if len(r.Metadata) > 0 {
		body = protowire.AppendTag(body, fieldMetadata, protowire.BytesType)
		body = protowire.AppendBytes(body, r.Metadata)
	}
	if len(r.Data) > 0 {
		body = protowire.AppendTag(body, fieldData, protowire.BytesType)
		body = protowire.AppendBytes(body, r.Data)
	}

	// size is the size of the ReadEvent.
	size := 1 + protowire.SizeBytes(len(body)) + 1 + protowire.SizeVarint(r.Position)
	out := make([]byte, 0, 1+protowire.SizeBytes(size))
	out = protowire.AppendTag(out, fieldEvent, protowire.BytesType)
	out = protowire.AppendVarint(out, uint64(size))
	out = protowire.AppendTag(out, fieldEvent, protowire.BytesType)
	out = protowire.AppendBytes(out, body)
	out = protowire.AppendTag(out, fieldReadCommit, protowire.VarintType)
	return protowire.AppendVarint(out, r.Position), body
}

func appendID(body []byte, r *record.Event, asString bool) []byte {
	body = protowire.AppendTag(body, fieldID, protowire.BytesType)
	if asString {
		text := r.ID.String()
		body = protowire.AppendVarint(body, uint64(1+protowire.SizeBytes(len(text))))
		return appendString(body, fieldString, text)
	}
	high, low := binary.BigEndian.Uint64(r.ID[:8]), binary.BigEndian.Uint64(r.ID[8:])
	var bits []byte
	bits = appendNumber(bits, fieldHigh, high)
	bits = appendNumber(bits, fieldLow, low)
	body = protowire.AppendVarint(body, uint64(1+protowire.SizeBytes(len(bits))))
	body = protowire.AppendTag(body, fieldStructured, protowire.BytesType)
	return protowire.AppendBytes(body, bits)
}

// appendNumber appends a field unless n is zero, which protobuf leaves out too.
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
	b = protowire.AppendVarint(
		b, uint64(1+protowire.SizeBytes(len(key))+1+protowire.SizeBytes(len(value))),
	)
	return appendString(appendString(b, fieldKey, key), fieldValue, value)
}
