package durable_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"linkledger/events/embedded/durable"
	"linkledger/events/embedded/embeddedtest"
	"linkledger/events/embedded/ledger"
	"linkledger/events/embedded/record"
	"linkledger/events/embedded/revision"
)

// log is a log to which a test writes. Events are durable once they are published.
type log struct {
	*durable.Log

	written *embeddedtest.Log
}

func open(t *testing.T, recent int) *log {
	t.Helper()
	written := embeddedtest.NewLog(t, vfs.NewMem())
	return &log{durable.New(written.DB, written.Position(), recent), written}
}

// write appends names to a stream without publishing them.
func (l *log) write(stream string, names ...string) []*record.Event {
	return l.written.Group(func() { l.written.Append(stream, revision.Any, embeddedtest.Proposals(names...)) }).Events
}

// add appends names to a stream and publishes them.
func (l *log) add(stream string, names ...string) []*record.Event {
	written := l.write(stream, names...)
	l.Publish(written)
	return written
}

func numbers(page []*record.Event) (list []int64) {
	for _, rec := range page {
		list = append(list, rec.Number)
	}
	return list
}

func TestRecentEvents(t *testing.T) {
	t.Parallel()
	l := open(t, 4)
	before := l.Head()
	if page, ok := l.After(before, 9); !ok || len(page) != 0 {
		t.Errorf("at the end: %v, %v", page, ok)
	}
	list := l.add("s", "0", "1", "2", "3", "4", "5")
	if l.Head() != list[5].Position {
		t.Errorf("the head is %d, want %d", l.Head(), list[5].Position)
	}
	for name, tc := range map[string]struct {
		pos   uint64
		limit int
		want  []int64
		held  bool
	}{
		"forgotten": {before, 9, nil, false},
		"oldest":    {list[1].Position, 9, []int64{2, 3, 4, 5}, true},
		"some":      {list[2].Position, 2, []int64{3, 4}, true},
		"none":      {list[5].Position, 2, nil, true},
	} {
		page, held := l.After(tc.pos, tc.limit)
		if !slices.Equal(numbers(page), tc.want) || held != tc.held {
			t.Errorf("%s: %v, %v; want %v, %v", name, numbers(page), held, tc.want, tc.held)
		}
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	l := open(t, 0)
	list := l.add("s", "0", "1", "2", "3", "4")
	low, high := list[1].Position, list[3].Position
	for name, tc := range map[string]struct {
		page func() ([]*record.Event, error)
		want []int64
	}{
		"log":              {func() ([]*record.Event, error) { return l.Page(low, high, false) }, []int64{1, 2, 3}},
		"log backwards":    {func() ([]*record.Event, error) { return l.Page(low, high, true) }, []int64{3, 2, 1}},
		"stream":           {func() ([]*record.Event, error) { return l.StreamPage("s", 1, 9, false, 2) }, []int64{1, 2}},
		"stream backwards": {func() ([]*record.Event, error) { return l.StreamPage("s", 0, 3, true, 9) }, []int64{3, 2, 1, 0}},
		"other stream":     {func() ([]*record.Event, error) { return l.StreamPage("none", 0, 3, true, 9) }, nil},
	} {
		if page, err := tc.page(); err != nil || !slices.Equal(numbers(page), tc.want) {
			t.Errorf("%s: %v, %v; want %v", name, numbers(page), err, tc.want)
		}
	}
	var names []string
	for i := range durable.PageEvents + 9 {
		names = append(names, fmt.Sprint("more", i))
	}
	more := l.add("many", names...)
	if page, err := l.Page(more[0].Position, l.Head(), false); err != nil || len(page) != durable.PageEvents {
		t.Errorf("a page of %d events, %v", len(page), err)
	}
}

func TestCheckPosition(t *testing.T) {
	t.Parallel()
	l := open(t, 0)
	at := l.add("s", "a")[0].Position
	for pos, want := range map[uint64]error{
		0: nil, 1: durable.ErrInsideEvent, at - 1: durable.ErrInsideEvent, at: nil, at + 1: nil,
	} {
		if err := l.CheckPosition(pos); !errors.Is(err, want) {
			t.Errorf("%d: %v, want %v", pos, err, want)
		}
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// TestWatch checks which readers an event wakes.
func TestWatch(t *testing.T) {
	t.Parallel()
	l := open(t, 0)
	all := l.Wait()
	own, done := l.Watch("s")
	meta, _ := l.Watch("$$s")
	other, _ := l.Watch("other")
	l.add("s", "a")
	if !closed(all) || !closed(own) || closed(meta) || closed(other) || closed(l.Wait()) {
		t.Errorf("an event: %v, %v, %v, %v", closed(all), closed(own), closed(meta), closed(other))
	}
	done()
	first, release := l.Watch("s")
	second, _ := l.Watch("s")
	release() // the other reader still waits
	l.Publish(l.written.Group(func() { l.written.Tombstone("s", revision.Any) }).Events)
	if !closed(first) || !closed(second) || !closed(meta) || closed(other) {
		t.Errorf("a tombstone: %v, %v, %v, %v", closed(first), closed(second), closed(meta), closed(other))
	}
	if rec, err := l.Tombstone("s"); err != nil || rec.Type != record.TypeTombstone {
		t.Errorf("%+v, %v", rec, err)
	}
}

// TestWatchAgain checks that an event ends the waits before it alone. The readers that it has woken may still hold
// their watches when others begin to wait.
func TestWatchAgain(t *testing.T) {
	t.Parallel()
	l := open(t, 0)
	woken, releaseWoken := l.Watch("s")
	l.add("s", "a")
	first, _ := l.Watch("s")
	if !closed(woken) || closed(first) {
		t.Errorf("after an event: the reader before it %v, the reader after it %v", closed(woken), closed(first))
	}
	releaseWoken() // does not end the wait of the other reader
	l.add("s", "b")
	second, _ := l.Watch("s")
	if !closed(first) || closed(second) {
		t.Errorf("after two events: the reader between them %v, the one after them %v", closed(first), closed(second))
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	l := open(t, 0)
	l.add("s", "a", "b")
	l.add("gone", "a")
	l.Publish(l.written.Group(func() { l.written.Tombstone("gone", revision.Any) }).Events)
	for data, want := range map[string]struct{ target, link bool }{
		"1@s": {true, true}, "2@s": {false, true}, "0@gone": {false, true}, "0@none": {false, true},
		"-1@s": {}, "x@s": {}, "1": {}, "1@": {},
	} {
		target, link, err := l.Resolve(t.Context(), &record.Event{Data: []byte(data)}, time.Now())
		if err != nil || link != want.link || (target != nil) != want.target {
			t.Errorf("%s: %+v, %v, %v", data, target, link, err)
		}
		if target != nil && (target.Stream != "s" || target.Number != 1) {
			t.Errorf("%s: %+v", data, target)
		}
	}
}

// TestStateWaitsForItsSync checks that a state is not returned before its last event is durable, and that it is the
// former one if that event never will be.
func TestStateWaitsForItsSync(t *testing.T) {
	t.Parallel()
	l := open(t, 0)
	l.add("s", "a")
	meta := l.written.Group(func() {
		l.written.Append("$$s", revision.Any, []record.Proposed{{
			Type: record.TypeMetadata, JSON: true, Data: []byte(`{"$maxCount":1}`),
		}})
	})
	l.Publish(meta.Events)
	written := l.write("s", "b")
	ended, end := context.WithCancel(t.Context())
	end()
	if st, err := l.State(ended, "s"); !errors.Is(err, context.Canceled) {
		t.Fatalf("%+v, %v before the sync", st, err)
	}
	states := make(chan *record.StreamState, 1)
	go func() {
		st, err := l.State(context.Background(), "s")
		if err != nil {
			t.Error(err)
		}
		states <- st
	}()
	l.Publish(written)
	if st := <-states; st == nil || st.Last != 1 || st.FirstReadable() != 1 {
		t.Fatalf("%+v after the sync", st)
	}
	l.write("s", "c")
	l.written.Group(func() { l.written.Tombstone("s", revision.Any) })
	l.written.DB.Fail(errors.New("broken"))
	st, err := l.State(t.Context(), "s")
	if err != nil || st.Last != 1 || st.Tombstoned || st.FirstReadable() != 1 || st.MetaPos != meta.Events[0].Position {
		t.Errorf("%+v, %v after the failure", st, err)
	}
	if st, err := l.State(t.Context(), "$$s"); err != nil || st.Last != 0 || st.Tombstoned {
		t.Errorf("metadata: %+v, %v", st, err)
	}
}

// TestStateOfMetadata checks that a tombstone ends the metadata stream too, whose last event alone is readable.
func TestStateOfMetadata(t *testing.T) {
	t.Parallel()
	l := open(t, 0)
	l.add("s", "a")
	l.add("$$s", "m")
	l.add("$$s", "n")
	if st, err := l.State(t.Context(), "$$s"); err != nil || st.FirstReadable() != 1 || st.Tombstoned {
		t.Errorf("%+v, %v", st, err)
	}
	var ended ledger.Outcome
	l.Publish(l.written.Group(func() { ended = l.written.Tombstone("s", revision.Any) }).Events)
	if st, err := l.State(t.Context(), "$$s"); ended.Err != nil || err != nil || !st.Tombstoned {
		t.Errorf("%+v, %v after the tombstone", st, err)
	}
}
