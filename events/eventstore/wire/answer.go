// Package wire forms the requests of the EventStoreDB protocol and decodes its answers. Events are
// decoded by hand: the structs that protobuf makes of them cost more than all that is done with an
// event.
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

// wireBytes is an answer as it came over the wire.
type wireBytes []byte

// codec hands answers on as they came, and sends requests as protobuf does.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(proto.Name)} }

// Unmarshal implements encoding.CodecV2.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	if answer, ok := v.(*wireBytes); ok {
		*answer = data.Materialize() // a copy, which the event keeps
		return nil
	}
	return c.CodecV2.Unmarshal(data, v)
}

// mostTypes bounds the types of events that a decoder remembers.
const mostTypes = 1000

// decoder reads events from the answers of a read. The structs that protobuf makes of them would
// cost more than all else that is done with an event.
type decoder struct {
	types  map[string]string // so that each is there once
	stream string            // of the last event: often the next one has the same
}

func newDecoder() decoder { return decoder{types: make(map[string]string)} }

// errWire means that an answer is not what the protocol says.
type errWire struct{ cause error }

func (e errWire) Error() string { return "malformed answer: " + e.cause.Error() }

func (e errWire) Unwrap() error { return e.cause }

// fields calls visit with each field of a message: its number, and either its bytes or its number.
func fields(message []byte, visit func(field int, value []byte, number uint64) error) error {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errWire{protowire.ParseError(n)}
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
			return errWire{protowire.ParseError(n)}
		}
		message = message[n:]
		if err := visit(int(field), value, number); err != nil {
			return err
		}
	}
	return nil
}

// Answer is what a ReadResp says. All else that it may say is of no interest here.
type Answer struct {
	IsEvent    bool
	Event      eventlog.Recorded
	Stored     time.Time         // when this event store recorded it
	Checkpoint eventlog.Position // was reached without an event that matches; zero: none
	CaughtUp   bool
	Missing    bool // there is no such stream
}

// decode reads a ReadResp. The event keeps parts of it.
func (d *decoder) decode(received wireBytes) (a Answer, err error) {
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

// event reads a ReadEvent that no link led to.
func (d *decoder) event(a *Answer, read []byte) error {
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

// field takes in a field of a RecordedEvent.
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

// readID reads a UUID in its structured form, which was asked for.
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

// system takes in an entry of the event store's own metadata.
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
		ticks, err := strconv.ParseInt(string(value), 10, 64) // of 100 ns since 1970
		if err != nil {
			return errWire{err}
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
	if len(d.types) < mostTypes {
		d.types[name] = name
	}
	return name
}
