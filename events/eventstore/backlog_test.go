package eventstore_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
)

// TestAppendsOutliveTheStore checks that writers continue through restarts of the store, and that
// every command is applied exactly once.
func TestAppendsOutliveTheStore(t *testing.T) {
	t.Parallel()
	server := eventstoretest.Serve(t)
	store := eventstoretest.Open(t, server.URL())
	const writers, each = 16, 60
	var all sync.WaitGroup
	progress := make(chan struct{}, writers*each)
	for writer := range writers {
		all.Go(func() {
			stream, last := fmt.Sprintf("tags-%d", writer), eventstore.NoStream
			for i := range each {
				appended, err := store.Append(
					t.Context(), eventstoretest.TagWrite(stream, last, uuid.New(), strconv.Itoa(i)),
				)
				if err != nil {
					t.Error(err)
					return
				}
				last = appended.Revision
				progress <- struct{}{}
			}
		})
	}
	for range 3 {
		for range writers * each / 5 {
			<-progress
		}
		server.Stop()
		server.Start()
	}
	all.Wait()
	for writer := range writers {
		loaded, err := store.Load(t.Context(), fmt.Sprintf("tags-%d", writer))
		if err != nil || len(loaded) != each {
			t.Fatalf("writer %d: %d of %d events, %v", writer, len(loaded), each, err)
		}
		for i, r := range loaded {
			e, err := r.Event()
			if created, ok := e.(events.TagCreated); err != nil || !ok || created.Label != strconv.Itoa(i) {
				t.Fatalf("writer %d, event %d: %+v, %v", writer, i, e, err)
			}
		}
	}
}

// TestBacklog checks that Backlog counts matching events after a position, and that it estimates
// their number beyond the limit.
func TestBacklog(t *testing.T) {
	t.Parallel()
	store := eventstoretest.New(t)
	filter := eventstore.Filter{Streams: []string{events.StreamTags}}
	if b, err := store.Backlog(t.Context(), eventstore.Position{}, filter, 10); b != (eventstore.Backlog{}) ||
		err != nil {
		t.Errorf("backlog of an empty log: %+v, %v", b, err)
	}
	eventstoretest.AppendNumbers(t, store, 0, 50)
	all, err := store.Backlog(t.Context(), eventstore.Position{}, filter, 1000)
	if err != nil || all.Events != 50 || all.Oldest.IsZero() {
		t.Errorf("backlog of everything: %+v, %v", all, err)
	}
	some, err := store.Backlog(t.Context(), eventstore.Position{}, filter, 10)
	if err != nil || some.Events < 40 || some.Events > 60 || !some.Oldest.Equal(all.Oldest) {
		t.Errorf("estimate: %+v, %v", some, err)
	}
	for kind, want := range map[string]int{
		events.TagCreated{}.EventType(): 100, "tag.": 100, events.TagDeleted{}.EventType(): 0,
	} {
		byType := eventstore.Filter{Types: []string{"none.", kind}}
		if b, err := store.Backlog(t.Context(), eventstore.Position{}, byType, 1000); b.Events != want || err != nil {
			t.Errorf("backlog of %s: %+v, %v", kind, b, err)
		}
	}
	head, err := store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if b, err := store.Backlog(t.Context(), head, filter, 10); b.Events != 0 || err != nil {
		t.Errorf("backlog after the end: %+v, %v", b, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := store.Backlog(ctx, eventstore.Position{}, filter, 10); err == nil {
		t.Error("a cancelled count succeeded")
	}
}
