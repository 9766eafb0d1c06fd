// Package wire builds the requests of the EventStoreDB protocol and decodes its responses. It
// decodes events without protobuf structs, which would cost more than all other work on an event.
package wire

import (
	"encoding/binary"
	"math"
	"strconv"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"linkledger/events/eventstore/eventlog"
)

// wireBytes is a response as received.
type wireBytes []byte

// codec returns responses undecoded and encodes requests by protobuf.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(proto.Name)} }

// Unmarshal implements encoding.CodecV2.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	if answer, ok := v.(*wireBytes); ok {
		*answer = data.Materialize() // a copy, which the event refers to
		return nil
	}
	return c.CodecV2.Unmarshal(data, v)
}

// maxTypes is how many event types a decoder remembers.
const maxTypes = 1000

// decoder decodes the responses of a read.
type decoder struct {
	types  map[string]string // shares one string per event type
	stream string            // of the last event, shared if the next one has the same
}

func newDecoder() decoder { return decoder{types: make(map[string]string)} }

// wireError means that a response violates the protocol.
type wireError struct{ cause error }

func (e wireError) Error() string { return "malformed answer: " + e.cause.Error() }

func (e wireError) Unwrap() error { return e.cause }

// fields calls visit with each field of a message: the field number, and its bytes or its varint.
func fields(message []byte, visit func(field int, value []byte, number uint64) error) error {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return wireError{protowire.ParseError(n)}
		}
		message = message[n:]
		var value []byte
		var number uint64
		switch kind {
		case protowire.BytesType:
			value, n = protowire.ConsumeBytes(message)
		case protowire.VarintType:
			number, n = protowire.ConsumeVarint(message)
		default:
			n = protowire.ConsumeFieldValue(field, kind, message)
		}
		if n < 0 {
			return wireError{protowire.ParseError(n)}
		}
		message = message[n:]
		if err := visit(int(field), value, number); err != nil {
			return err
		}
	}
	return nil
}

// Response is a decoded ReadResp. Fields that this program does not use are left out.
type Response struct {
	IsEvent    bool
	Event      eventlog.Recorded
	Stored     time.Time         // when this event store recorded it
	Checkpoint eventlog.Position // reached without a matching event; zero: none
	CaughtUp   bool
	Missing    bool // the stream does not exist
}

// decode decodes a ReadResp. The event refers to parts of received.
func (d *decoder) decode(received wireBytes) (a Response, err error) {
	err = fields(received, func(field int, value []byte, _ uint64) error {
		switch field {
		case 1: // event
			return d.event(&a, value)
		case 3: // checkpoint
			return fields(value, func(field int, _ []byte, number uint64) error {
				switch field {
				case 1: // commit_position
					a.Checkpoint.Commit = number
				case 2: // prepare_position
					a.Checkpoint.Prepare = number
				}
				return nil
			})
		case 4: // stream_not_found
			a.Missing = true
		case 8: // caught_up
			a.CaughtUp = true
		}
		return nil
	})
	return a, err
}

// event decodes a ReadEvent that was not reached through a link.
func (d *decoder) event(a *Response, read []byte) error {
	return fields(read, func(field int, recorded []byte, _ uint64) error {
		if field != 1 { // event
			return nil
		}
		a.IsEvent = true
		err := fields(recorded, func(field int, value []byte, number uint64) error {
			return d.field(&a.Event, field, value, number)
		})
		a.Stored = a.Event.Time
		a.Event.RestoreOrigin()
		return err
	})
}

// field decodes a field of a RecordedEvent.
func (d *decoder) field(r *eventlog.Recorded, field int, value []byte, number uint64) error {
	switch field {
	case 1: // id
		return readID(&r.ID, value)
	case 2: // stream_identifier
		return fields(value, func(field int, name []byte, _ uint64) error {
			if field == 3 && d.stream != string(name) {
				d.stream = string(name)
			}
			r.Stream = d.stream
			return nil
		})
	case 3: // stream_revision
		r.Revision = eventlog.Revision(min(number, math.MaxInt64))
	case 4: // prepare_position
		r.Position.Prepare = number
	case 5: // commit_position
		r.Position.Commit = number
	case 6: // metadata
		return d.system(r, value)
	case 7: // custom_metadata
		r.Metadata = value
	case 8: // data
		r.Data = value
	}
	return nil
}

// readID decodes a UUID in its structured form, which Open requests.
func readID(id *uuid.UUID, value []byte) error {
	return fields(value, func(field int, bits []byte, _ uint64) error {
		if field != 1 { // structured
			return nil
		}
		return fields(bits, func(field int, _ []byte, number uint64) error {
			switch field {
			case 1: // most_significant_bits
				binary.BigEndian.PutUint64(id[:8], number)
			case 2: // least_significant_bits
				binary.BigEndian.PutUint64(id[8:], number)
			}
			return nil
		})
	})
}

// system decodes an entry of the metadata that the event store itself adds.
func (d *decoder) system(r *eventlog.Recorded, entry []byte) error {
	var key, value []byte
	err := fields(entry, func(field int, text []byte, _ uint64) error {
		switch field {
		case 1: // key
			key = text
		case 2: // value
			value = text
		}
		return nil
	})
	if err != nil {
		return err
	}
	switch string(key) {
	case "type":
		r.Type = d.typeOf(value)
	case "created":
		ticks, err := strconv.ParseInt(string(value), 10, 64) // in units of 100 ns since 1970
		if err != nil {
			return wireError{err}
		}
		r.Time = time.Unix(ticks/1e7, ticks%1e7*100).UTC()
	}
	return nil
}

func (d *decoder) typeOf(text []byte) string {
	if known, ok := d.types[string(text)]; ok {
		return known
	}
	name := string(text)
	if len(d.types) < maxTypes {
		d.types[name] = name
	}
	return name
}
