// Package ledger is the writer's view of the log. It decides appends, deletions and tombstones one
// after the other and collects their changes in a batch.
package ledger

import (
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/google/uuid"

	"linkledger/events/embedded/record"
	"linkledger/events/embedded/revision"
)

// Ledger is the writer's view of the log: the committed writes and the writes of the current group.
// It has no rollback, because the store accepts no writes after a group that cannot be committed.
// It MUST be used by one goroutine at a time.
type Ledger struct {
	db       *pebble.DB
	now      func() time.Time
	states   *stateCache
	recent   *revision.RecentIDs
	head     uint64 // position of the last event
	next     uint64 // position of the next event
	counters record.Counters

	batch  *pebble.Batch
	events []*record.Event                // written by the current group
	dirty  map[string]*record.StreamState // changed by the current group
}

// New returns the ledger of a database. The caller MUST call Recover before all other methods.
func New(db *pebble.DB, now func() time.Time) *Ledger {
	return &Ledger{
		db: db, now: now, states: newStateCache(cachedStates),
		recent: revision.NewRecentIDs(rememberedIDs),
	}
}

// Position returns the position of the last event.
func (l *Ledger) Position() uint64 { return l.head }

// Totals returns the numbers of events and streams in the log.
func (l *Ledger) Totals() record.Counters { return l.counters }

// BeginGroup begins a group. The previous group MUST have been applied.
func (l *Ledger) BeginGroup() {
	l.states.trim()
	l.batch = l.db.NewBatch()
	l.events = nil
	l.dirty = make(map[string]*record.StreamState)
}

// Group has the changes of a group of writes.
type Group struct {
	Batch    *pebble.Batch
	Events   []*record.Event
	Counters record.Counters
}

// EndGroup completes the batch of the group. If it returns an error, the group MUST NOT be applied.
func (l *Ledger) EndGroup() (Group, error) {
	g := Group{Batch: l.batch, Events: l.events, Counters: l.counters}
	if len(l.events) == 0 {
		return g, nil
	}
	for stream, st := range l.dirty {
		if err := l.batch.Set(record.StateKey(stream), st.Encode(), nil); err != nil {
			return g, fmt.Errorf("write state of stream %q: %w", stream, err)
		}
	}
	if err := l.batch.Set(record.CountersKey, l.counters.Encode(), nil); err != nil {
		return g, fmt.Errorf("write counters: %w", err)
	}
	return g, nil
}

func (l *Ledger) state(stream string) (*record.StreamState, error) {
	if st, ok := l.states.get(stream); ok {
		return st, nil
	}
	st, err := record.LoadState(l.db, stream)
	if err != nil {
		return nil, err
	}
	l.states.add(stream, st)
	return st, nil
}

// eventNumbered returns the event of a stream with this number, or nil if there is none.
func (l *Ledger) eventNumbered(stream string, number int64) (*record.Event, error) {
	for _, rec := range l.events {
		if rec.Number == number && rec.Stream == stream {
			return rec, nil
		}
	}
	rec, err := record.LoadNumber(l.db, stream, number)
	if errors.Is(err, record.ErrNoEvent) {
		return nil, nil //nolint:nilnil // revision.StreamInfo.At returns nil if there is no event
	}
	return rec, err
}

// eventAt returns the event at pos.
func (l *Ledger) eventAt(pos uint64) (*record.Event, error) {
	for _, rec := range l.events {
		if rec.Position == pos {
			return rec, nil
		}
	}
	return record.LoadEvent(l.db, pos)
}

// put writes one event to the end of the log. It returns an error only if the batch does.
func (l *Ledger) put(
	stream string, st *record.StreamState, number int64, p record.Proposed,
) (*record.Event, error) {
	rec := &record.Event{
		Position: l.next, Number: number, Created: record.Ticks(l.now()), ID: p.ID, JSON: p.JSON,
		Stream: stream, Type: p.Type, Metadata: p.Metadata, Data: p.Data,
	}
	value := rec.Encode()
	key := record.EventKey(rec.Position)
	if err := l.batch.Set(key, value, nil); err != nil {
		return nil, fmt.Errorf("write event: %w", err)
	}
	if err := l.batch.Set(record.IndexKey(stream, number), key[1:], nil); err != nil {
		return nil, fmt.Errorf("write index: %w", err)
	}
	if number == 0 {
		l.counters.Streams++
	}
	l.counters.Events++
	l.head = rec.Position
	l.next += uint64(record.EventKeySize + len(value))
	if number == record.TombstoneNumber {
		st.Tombstoned = true
	} else {
		st.Last = number
	}
	st.Changed = rec.Position
	l.dirty[stream] = st
	l.events = append(l.events, rec)
	l.recent.Add(rec)
	return rec, nil
}

// appendEvents writes events to the end of a stream and returns the last of them, or nil if there
// are none.
func (l *Ledger) appendEvents(
	stream string, st *record.StreamState, events []record.Proposed,
) (last *record.Event, err error) {
	for _, p := range events {
		if last, err = l.put(stream, st, st.Last+1, p); err != nil {
			return nil, err
		}
	}
	return last, nil
}

// appendMetadata appends to the metadata stream of origin and applies the new metadata to the state
// of origin. It returns the last of the events, or nil if there are none.
func (l *Ledger) appendMetadata(
	origin string, originState, metaState *record.StreamState, events []record.Proposed,
) (*record.Event, error) {
	last, err := l.appendEvents(record.MetadataPrefix+origin, metaState, events)
	if err != nil || last == nil {
		return last, err
	}
	originState.MetaPos = last.Position
	originState.Changed = last.Position
	if !record.IsMetadataStream(origin) {
		originState.Limits = record.ParseLimits(last)
	}
	l.dirty[origin] = originState
	return last, nil
}

func metadataEvent(data []byte) record.Proposed {
	return record.Proposed{ID: uuid.New(), Type: record.TypeMetadata, JSON: true, Data: data}
}
