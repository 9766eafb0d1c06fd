// Package durable reads the part of the log that no crash can take back, and
// wakes those who wait for more of it.
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

// Database is what the log is read from.
type Database interface {
	pebble.Reader

	// Failed is closed when nothing more becomes durable, and Err says why.
	Failed() <-chan struct{}
	Err() error
}

// Log is the durable part of the log: the head that caps every read, the
// last events in memory, and whoever waits for more.
type Log struct {
	db  Database
	end atomic.Uint64 // position of the last durable event

	mu      sync.Mutex
	limit   int             // of events in recent
	recent  []*record.Event // ascending, the last one is at head
	bytes   int
	floor   uint64 // recent holds every event above this position
	changed chan struct{}
	streams map[string]*streamWatch
}

// streamWatch is shared by all who wait for one stream.
type streamWatch struct {
	changed chan struct{}
	users   int
}

// New returns the log in db, which ends at head. It keeps so many of
// the events that are published in memory; 0 means 4096.
func New(db Database, head uint64, recent int) *Log {
	if recent == 0 {
		recent = ringEvents
	}
	l := &Log{
		db: db, limit: recent, floor: head, changed: make(chan struct{}),
		streams: map[string]*streamWatch{},
	}
	l.end.Store(head)
	return l
}

// Head is the position of the last durable event.
func (l *Log) Head() uint64 { return l.end.Load() }

// Publish shows durable events to the readers and wakes who waits for them.
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
		// append copies only what is left; until then the slot must not hold the event
		l.recent[0] = nil
		l.recent = l.recent[1:]
	}
	l.end.Store(events[len(events)-1].Position)
	close(l.changed)
	l.changed = make(chan struct{})
	if len(l.streams) == 0 {
		return
	}
	for _, rec := range events {
		l.wake(rec.Stream)
		if rec.Number == record.TombstoneNumber {
			l.wake(record.MetadataPrefix + rec.Stream) // it ends with the stream
		}
	}
}

func (l *Log) wake(stream string) {
	if watch, ok := l.streams[stream]; ok {
		close(watch.changed)
		delete(l.streams, stream)
	}
}

// After returns up to limit events above pos, and false when some of those are
// no longer in memory. The slice is the caller's, the events are shared.
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

// Wait returns a channel that is closed by the next publish. Take it first,
// then look at the head, then wait: so no wake-up is lost.
func (l *Log) Wait() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed
}

// Watch is wait for the events of one stream. release must be called.
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
