package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/google/uuid"
)

// proposed is an event on its way into a stream.
type proposed struct {
	id   uuid.UUID
	kind string
	json bool
	meta []byte
	data []byte
}

// counters are kept beside the events, so that asking for them scans nothing.
type counters struct{ events, streams uint64 }

func (c counters) encode() []byte {
	buf := binary.BigEndian.AppendUint64(make([]byte, 0, 16), c.events)
	return binary.BigEndian.AppendUint64(buf, c.streams)
}

func decodeCounters(buf []byte) (counters, error) {
	if len(buf) != 16 {
		return counters{}, fmt.Errorf("%w: counters have %d bytes", ErrCorrupt, len(buf))
	}
	return counters{binary.BigEndian.Uint64(buf), binary.BigEndian.Uint64(buf[8:])}, nil
}

func loadCounters(db pebble.Reader) (counters, error) {
	value, closer, err := db.Get(countersKey)
	if err != nil {
		cause, _ := storageFault(err)
		return counters{}, fmt.Errorf("read counters: %w", cause)
	}
	defer func() { _ = closer.Close() }() // gives back memory
	return decodeCounters(value)
}

// ledger is the writer's view of the log: all that is committed, and the group
// at hand on top. What a group changes here is never taken back, because a
// group that cannot be committed is the last one that this store accepts.
type ledger struct {
	db       *pebble.DB
	now      func() time.Time
	states   *stateCache
	recent   *recentIDs
	head     uint64 // position of the last event
	next     uint64 // position of the next event
	counters counters

	batch  *pebble.Batch
	events []*record               // written by the group at hand
	dirty  map[string]*streamState // changed by the group at hand
}

// begin opens a group.
func (l *ledger) begin() {
	l.batch = l.db.NewBatch()
	l.events = nil
	l.dirty = make(map[string]*streamState)
}

// seal completes the batch of the group.
func (l *ledger) seal() error {
	for stream, st := range l.dirty {
		if err := l.batch.Set(stateKey(stream), st.encode(), nil); err != nil {
			return fmt.Errorf("write state of stream %q: %w", stream, err)
		}
	}
	if err := l.batch.Set(countersKey, l.counters.encode(), nil); err != nil {
		return fmt.Errorf("write counters: %w", err)
	}
	return nil
}

func (l *ledger) state(stream string) (*streamState, error) {
	if st, ok := l.states.get(stream); ok {
		return st, nil
	}
	st, err := loadState(l.db, stream)
	if err != nil {
		return nil, err
	}
	l.states.add(stream, st)
	return st, nil
}

// at returns the event with this number, or nil when there is none.
func (l *ledger) at(stream string, number int64) (*record, error) {
	for _, rec := range l.events {
		if rec.number == number && rec.stream == stream {
			return rec, nil
		}
	}
	rec, err := loadNumber(l.db, stream, number)
	if errors.Is(err, errNoEvent) {
		return nil, nil
	}
	return rec, err
}

// record returns the event at pos.
func (l *ledger) record(pos uint64) (*record, error) {
	for _, rec := range l.events {
		if rec.pos == pos {
			return rec, nil
		}
	}
	return loadEvent(l.db, pos)
}

// put writes one event behind all others. It fails only where the batch does.
func (l *ledger) put(stream string, st *streamState, number int64, p proposed) (*record, error) {
	rec := &record{
		pos: l.next, number: number, created: ticks(l.now()), id: p.id, json: p.json,
		stream: stream, kind: p.kind, meta: p.meta, data: p.data,
	}
	value := rec.encode()
	key := eventKey(rec.pos)
	if err := l.batch.Set(key, value, nil); err != nil {
		return nil, fmt.Errorf("write event: %w", err)
	}
	if err := l.batch.Set(indexKey(stream, number), key[1:], nil); err != nil {
		return nil, fmt.Errorf("write index: %w", err)
	}
	if number == 0 {
		l.counters.streams++
	}
	l.counters.events++
	l.head = rec.pos
	l.next += uint64(eventKeySize + len(value))
	if number == tombstoneNumber {
		st.tombstoned = true
	} else {
		st.last = number
	}
	st.changed = rec.pos
	l.dirty[stream] = st
	l.events = append(l.events, rec)
	l.recent.add(rec)
	return rec, nil
}

// append writes events to the end of a stream and returns the last of them.
func (l *ledger) append(stream string, st *streamState, events []proposed) (last *record, err error) {
	for _, p := range events {
		if last, err = l.put(stream, st, st.last+1, p); err != nil {
			return nil, err
		}
	}
	return last, nil
}

// appendMetadata writes to the metadata stream of origin and lets the new
// metadata take effect.
func (l *ledger) appendMetadata(origin string, originState, metaState *streamState, events []proposed) (*record, error) {
	last, err := l.append(metadataPrefix+origin, metaState, events)
	if err != nil || last == nil {
		return last, err
	}
	originState.metaPos = last.pos
	originState.changed = last.pos
	if !isMetadataStream(origin) {
		originState.limits = parseLimits(last)
	}
	l.dirty[origin] = originState
	return last, nil
}

func metadataEvent(data []byte) proposed {
	return proposed{id: uuid.New(), kind: typeMetadata, json: true, data: data}
}
