package streams

import (
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/google/uuid"

	"linkledger/commands/commandstest"
	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
)

func ids(all []eventstore.Recorded) []uuid.UUID {
	ids := make([]uuid.UUID, len(all))
	for i, r := range all {
		ids[i] = r.ID
	}
	return ids
}

// wantWhole checks that Streams returns a stream as the event store has it.
func wantWhole(t *testing.T, store *eventstore.Store, s *Streams, stream string) {
	t.Helper()
	want, err := store.Load(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Load(t.Context(), stream)
	if err != nil || !slices.Equal(ids(got.Recorded), ids(want)) || len(got.Events) != len(want) {
		t.Fatalf("%d events, %v; want %d", len(got.Recorded), err, len(want))
	}
	for i, r := range got.Recorded {
		if e, err := want[i].Event(); err != nil || e != got.Events[i] ||
			string(r.Metadata) != string(want[i].Metadata) {
			t.Fatalf("event %d is %+v with %s, want %+v, %v", i, got.Events[i], r.Metadata, e, err)
		}
	}
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
	store, stream := eventstoretest.New(t), events.StreamTags+"a"
	s := New(Config{Store: store})
	for n := range 4 { // the stream becomes long and continues to grow
		commandstest.AppendAll(t, store, stream, eventstore.Revision(n*longStream/2-1), renames(n, longStream/2)...)
		for range 2 {
			wantWhole(t, store, s, stream)
		}
	}
	cached, ok := s.long.cache.GetIfPresent(stream)
	if !ok || len(cached.loaded.Recorded) != 2*longStream || cached.size.Load() < 2*longStream*eventSize {
		t.Fatalf("the cache does not hold the whole stream: %+v", cached)
	}
	if cached.loaded.Recorded[0].Data != nil {
		t.Error("the cache holds bodies")
	}
	// If the stream has been replaced, for example by restoring the store from a backup, the cached
	// events do not count.
	cached.loaded.Recorded[2*longStream-1].ID = uuid.New()
	wantWhole(t, store, s, stream)
	commandstest.AppendAll(t, store, events.StreamTags+"b", eventstore.NoStream, renames(0, longStream-1)...)
	wantWhole(t, store, s, events.StreamTags+"b")
	if _, ok := s.long.cache.GetIfPresent(events.StreamTags + "b"); ok {
		t.Error("the cache holds a short stream")
	}
}

// TestLongStreamUnderConcurrency checks that readers get a complete prefix of a stream while others append to it, and
// that this prefix does not change.
func TestLongStreamUnderConcurrency(t *testing.T) {
	t.Parallel()
	store, stream := eventstoretest.New(t), events.StreamTags+"a"
	s := New(Config{Store: store})
	commandstest.AppendAll(t, store, stream, eventstore.NoStream, renames(0, longStream)...)
	var reading sync.WaitGroup
	for range 8 {
		reading.Go(func() {
			for range 20 {
				loaded, err := s.Load(t.Context(), stream)
				if err != nil {
					t.Error(err)
					return
				}
				_ = append(loaded.Recorded, eventstore.Recorded{}) // must not be visible to other readers
				for i, r := range loaded.Recorded {
					renamed, ok := loaded.Events[i].(events.TagRenamed)
					if r.Revision != eventstore.Revision(i) || !ok || renamed.Label != strconv.Itoa(i) {
						t.Errorf("event %d is %+v at %d", i, loaded.Events[i], r.Revision)
						return
					}
				}
			}
		})
	}
	for n := range 100 {
		commandstest.AppendAll(t, store, stream, eventstore.Revision(longStream+n-1), renames(longStream+n, 1)...)
	}
	reading.Wait()
	wantWhole(t, store, s, stream)
}
