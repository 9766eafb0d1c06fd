package level

import (
	"errors"
	"sync"
	"testing"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
)

func TestMain(m *testing.M) { eventstoretest.Main(m) }

// write appends an event to a new stream and returns its position.
func write(t *testing.T, store *eventstore.Store, stream string) eventstore.Position {
	t.Helper()
	appended, err := store.Append(t.Context(), eventstoretest.TagWrite(stream, eventstore.NoStream, uuid.New(), "x"))
	if err != nil {
		t.Fatal(err)
	}
	return appended.Position
}

// TestLatest checks which checkpoints have all events about links, while links and other things change.
func TestLatest(t *testing.T) {
	t.Parallel()
	server := eventstoretest.Serve(t)
	store := eventstoretest.Open(t, server.URL())
	log := OfLinks(store)
	level := func(at eventstore.Position, want bool) {
		t.Helper()
		latest, err := log.Latest(t.Context(), at)
		if err != nil || latest.After(at) == want {
			t.Errorf("the latest event after %s is at %s, %v; want level %t", at, latest, err, want)
		}
	}
	level(eventstore.Position{}, true)
	first := write(t, store, events.StreamHash+"a")
	level(eventstore.Position{}, false)
	level(first, true)
	other := write(t, store, events.StreamTags+"a")
	level(first, true)
	level(other, true)
	second, third := write(t, store, events.StreamURL+"b"), write(t, store, events.StreamHash+"c")
	level(first, false)
	level(second, false)
	level(third, true)
	level(first, false)
	level(third, true)
	if latest, err := log.Latest(t.Context(), first); err != nil || latest != third {
		t.Errorf("the latest event after %s is at %s, %v; want %s", first, latest, err, third)
	}
	beyond := eventstore.Position{Commit: third.Commit + 1<<20, Prepare: third.Prepare + 1<<20}
	if _, err := log.Latest(t.Context(), beyond); !errors.Is(err, eventstore.ErrPositionInvalid) {
		t.Errorf("a position that is not in the log: %v", err)
	}
	level(second, false)
	level(third, true)
	server.Stop()
	if _, err := log.Latest(t.Context(), third); !errors.Is(err, eventstore.ErrUnavailable) {
		t.Errorf("without the event store: %v", err)
	}
}

// TestLatestIsNeverOlderThanTheCall writes events while others look at the log. Whoever has written an event and then
// asks with the checkpoint before it MUST be told of it.
func TestLatestIsNeverOlderThanTheCall(t *testing.T) {
	t.Parallel()
	store := eventstoretest.Open(t, eventstoretest.Serve(t).URL())
	log := OfLinks(store)
	var writers sync.WaitGroup
	for range 8 {
		writers.Go(func() {
			before := write(t, store, events.StreamHash+uuid.NewString())
			for range 20 {
				at := write(t, store, events.StreamHash+uuid.NewString())
				latest, err := log.Latest(t.Context(), before)
				if err != nil || !latest.After(before) {
					t.Errorf("after %s nothing is found, %v; the event at %s is there", before, err, at)
				}
				before = at
			}
		})
	}
	writers.Wait()
}

// TestFarBehind looks at a log that has more events after a checkpoint than a look reads.
func TestFarBehind(t *testing.T) {
	t.Parallel()
	store := eventstoretest.Open(t, eventstoretest.Serve(t).URL())
	log := OfLinks(store)
	first := write(t, store, events.StreamHash+"first")
	var last eventstore.Position
	for range 200 {
		last = write(t, store, events.StreamHash+uuid.NewString())
	}
	tries := 0
	latest, err := log.Latest(t.Context(), first)
	for ; errors.Is(err, ErrFarBehind) && tries < 10; tries++ {
		latest, err = log.Latest(t.Context(), first)
	}
	if err != nil || latest != last || tries == 0 {
		t.Errorf("after %d tries the latest event is at %s, %v; want %s", tries, latest, err, last)
	}
	if latest, err = log.Latest(t.Context(), last); err != nil || latest != last {
		t.Errorf("a read model with all events is told that it lacks the one at %s, %v", latest, err)
	}
}
