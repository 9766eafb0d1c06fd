package embedded

import (
	"sort"
	"sync"
	"sync/atomic"
)

const (
	ringEvents = 4096
	ringBytes  = 32 << 20
)

// tail is the durable end of the log: the head that caps every read, the last
// events in memory, and whoever waits for more.
type tail struct {
	head atomic.Uint64 // position of the last durable event

	mu      sync.Mutex
	limit   int       // of events in recent
	recent  []*record // ascending, the last one is at head
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

func newTail(head uint64) *tail {
	t := &tail{limit: ringEvents, floor: head, changed: make(chan struct{}), streams: map[string]*streamWatch{}}
	t.head.Store(head)
	return t
}

// publish shows durable events to the readers and wakes who waits for them.
func (t *tail) publish(events []*record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, rec := range events {
		t.recent = append(t.recent, rec)
		t.bytes += rec.size()
	}
	for len(t.recent) > t.limit || (t.bytes > ringBytes && len(t.recent) > 0) {
		t.bytes -= t.recent[0].size()
		t.floor = t.recent[0].pos
		t.recent[0] = nil // append copies only what is left; until then the slot must not hold the event
		t.recent = t.recent[1:]
	}
	t.head.Store(events[len(events)-1].pos)
	close(t.changed)
	t.changed = make(chan struct{})
	if len(t.streams) == 0 {
		return
	}
	for _, rec := range events {
		t.wake(rec.stream)
		if rec.number == tombstoneNumber {
			t.wake(metadataPrefix + rec.stream) // it ends with the stream
		}
	}
}

func (t *tail) wake(stream string) {
	if watch, ok := t.streams[stream]; ok {
		close(watch.changed)
		delete(t.streams, stream)
	}
}

// after returns up to limit events above pos, and false when some of those are
// no longer in memory. The slice is the caller's, the events are shared.
func (t *tail) after(pos uint64, limit int) ([]*record, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if pos < t.floor {
		return nil, false
	}
	first := sort.Search(len(t.recent), func(i int) bool { return t.recent[i].pos > pos })
	last := min(first+limit, len(t.recent))
	return append([]*record(nil), t.recent[first:last]...), true
}

// wait returns a channel that is closed by the next publish. Take it first,
// then look at the head, then wait: so no wake-up is lost.
func (t *tail) wait() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changed
}

// watch is wait for the events of one stream. release must be called.
func (t *tail) watch(stream string) (changed <-chan struct{}, release func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w, ok := t.streams[stream]
	if !ok {
		w = &streamWatch{changed: make(chan struct{})}
		t.streams[stream] = w
	}
	w.users++
	return w.changed, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if w.users--; w.users == 0 && t.streams[stream] == w {
			delete(t.streams, stream)
		}
	}
}
