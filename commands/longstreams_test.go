package commands

import (
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/google/uuid"

	"linkledger/commands/commandstest"
	"linkledger/events"
	"linkledger/events/eventstore"
)

func ids(all []eventstore.Recorded) []uuid.UUID {
	ids := make([]uuid.UUID, len(all))
	for i, r := range all {
		ids[i] = r.ID
	}
	return ids
}

// wantWhole demands that a handler sees a stream as the event store has it.
func (s *stack) wantWhole(t *testing.T, stream string) history {
	t.Helper()
	want, err := s.store.Load(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.load(t.Context(), stream)
	if err != nil || !slices.Equal(ids(got.recorded), ids(want)) || len(got.events) != len(want) {
		t.Fatalf("%d events, %v; want %d", len(got.recorded), err, len(want))
	}
	for i, r := range got.recorded {
		if e, err := want[i].Event(); err != nil || e != got.events[i] || string(r.Metadata) != string(want[i].Metadata) {
			t.Fatalf("event %d is %+v with %s, want %+v, %v", i, got.events[i], r.Metadata, e, err)
		}
	}
	return got
}

func renames(from, n int) []events.Event {
	all := make([]events.Event, n)
	for i := range all {
		all[i] = events.TagRenamed{TagID: "tag", Label: strconv.Itoa(from + i), At: commandstest.At}
	}
	return all
}

func TestLongStreamIsReadOnce(t *testing.T) {
	t.Parallel()
	s, stream := newStack(t), events.StreamTags+"a"
	other := NewHandler(Config{Store: s.store})
	for n := range 4 { // it becomes a long one, and goes on
		appendAll(t, other, stream, eventstore.Revision(n*longStream/2-1), renames(n, longStream/2)...)
		for range 2 {
			s.wantWhole(t, stream)
		}
	}
	kept, ok := s.streams.kept.GetIfPresent(stream)
	if !ok || len(kept.loaded.recorded) != 2*longStream || kept.size.Load() < 2*longStream*keptEventSize {
		t.Fatalf("not all of it is kept: %+v", kept)
	}
	if kept.loaded.recorded[0].Data != nil {
		t.Error("bodies are kept")
	}
	// Of a stream that is another one by now, such as of a store that was restored from a backup, nothing counts.
	kept.loaded.recorded[2*longStream-1].ID = uuid.New()
	s.wantWhole(t, stream)
	appendAll(t, other, events.StreamTags+"b", eventstore.NoStream, renames(0, longStream-1)...)
	s.wantWhole(t, events.StreamTags+"b")
	if _, ok := s.streams.kept.GetIfPresent(events.StreamTags + "b"); ok {
		t.Error("a short stream is kept")
	}
}

// Readers see whole beginnings of a stream while others append to it, and what they have seen stays.
func TestLongStreamUnderConcurrency(t *testing.T) {
	t.Parallel()
	s, stream := newStack(t), events.StreamTags+"a"
	appendAll(t, s.Handler, stream, eventstore.NoStream, renames(0, longStream)...)
	var reading sync.WaitGroup
	for range 8 {
		reading.Go(func() {
			for range 20 {
				loaded, err := s.load(t.Context(), stream)
				if err != nil {
					t.Error(err)
					return
				}
				_ = append(loaded.recorded, eventstore.Recorded{}) // which no other may see
				for i, r := range loaded.recorded {
					renamed, ok := loaded.events[i].(events.TagRenamed)
					if r.Revision != eventstore.Revision(i) || !ok || renamed.Label != strconv.Itoa(i) {
						t.Errorf("event %d is %+v at %d", i, loaded.events[i], r.Revision)
						return
					}
				}
			}
		})
	}
	for n := range 100 {
		appendAll(t, s.Handler, stream, eventstore.Revision(longStream+n-1), renames(longStream+n, 1)...)
	}
	reading.Wait()
	s.wantWhole(t, stream)
}
