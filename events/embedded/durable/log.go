// Package durable reads the part of the log that no crash can erase, and wakes the readers that
// wait for more events. It MUST NOT return events that are not durable.
package durable

import (
	"sort"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"linkledger/events/embedded/record"
)

const (
	ringEvents = 4096
	ringBytes  = 32 << 20
)

// Database is the database of a log.
type Database interface {
	pebble.Reader

	// Failed returns a channel that is closed once no more events can become durable. Err then
	// returns the reason.
	Failed() <-chan struct{}
	Err() error
}

// Log is the durable part of the log. It holds the head, which caps every read, the last events in
// memory, and the channels of the readers that wait for more.
type Log struct {
	db   Database
	head atomic.Uint64 // position of the last durable event

	mu      sync.Mutex
	limit   int             // maximum number of events in recent
	recent  []*record.Event // in ascending order; the last one is at head
	bytes   int             // size of the events in recent
	floor   uint64          // recent holds every event above this position
	changed chan struct{}   // closed by the next Publish
	streams map[string]*streamWatch
}

// streamWatch is shared by all readers that wait for one stream.
type streamWatch struct {
	changed chan struct{}
	users   int
}

// New returns the log in db, which ends at head. recent is the maximum number of published events
// that the log keeps in memory. 0 means 4096.
func New(db Database, head uint64, recent int) *Log {
	if recent == 0 {
		recent = ringEvents
	}
	l := &Log{
		db: db, limit: recent, floor: head, changed: make(chan struct{}),
		streams: map[string]*streamWatch{},
	}
	l.head.Store(head)
	return l
}

// Head returns the position of the last durable event.
func (l *Log) Head() uint64 { return l.head.Load() }

// Publish makes durable events readable and wakes the readers that wait for them.
func (l *Log) Publish(events []*record.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, rec := range events {
		l.recent = append(l.recent, rec)
		l.bytes += rec.Size()
	}
	for len(l.recent) > l.limit || (l.bytes > ringBytes && len(l.recent) > 0) {
		l.bytes -= l.recent[0].Size()
		l.floor = l.recent[0].Position
		// The slot lives until append reallocates the array, so the slot MUST NOT keep the event
		// in memory.
		l.recent[0] = nil
		l.recent = l.recent[1:]
	}
	l.head.Store(events[len(events)-1].Position)
	close(l.changed)
	l.changed = make(chan struct{})
	if len(l.streams) == 0 {
		return
	}
	for _, rec := range events {
		l.wake(rec.Stream)
		if rec.Number == record.TombstoneNumber {
			l.wake(record.MetadataPrefix + rec.Stream) // a tombstone also ends the metadata stream
		}
	}
}

func (l *Log) wake(stream string) {
	if watch, ok := l.streams[stream]; ok {
		close(watch.changed)
		delete(l.streams, stream)
	}
}

// After returns up to limit events above pos, or false if some of them are no longer in memory. The
// caller owns the slice but MUST NOT change the events.
func (l *Log) After(pos uint64, limit int) ([]*record.Event, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if pos < l.floor {
		return nil, false
	}
	first := sort.Search(len(l.recent), func(i int) bool { return l.recent[i].Position > pos })
	last := min(first+limit, len(l.recent))
	return append([]*record.Event(nil), l.recent[first:last]...), true
}

// Wait returns a channel that is closed by the next Publish. The caller MUST call Wait before it
// reads the head. Otherwise it misses an event that is published between the two.
func (l *Log) Wait() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed
}

// Watch is Wait for the events of one stream. The caller MUST call release when it no longer waits.
func (l *Log) Watch(stream string) (changed <-chan struct{}, release func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w, ok := l.streams[stream]
	if !ok {
		w = &streamWatch{changed: make(chan struct{})}
		l.streams[stream] = w
	}
	w.users++
	return w.changed, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if w.users--; w.users == 0 && l.streams[stream] == w {
			delete(l.streams, stream)
		}
	}
}
