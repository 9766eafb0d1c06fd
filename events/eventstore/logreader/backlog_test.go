package logreader_test

import (
	"context"
	"testing"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/events/eventstore/logreader"
)

func TestMain(m *testing.M) { eventstoretest.Main(m) }

// TestBacklog checks that Backlog counts matching events after a position, and that it estimates
// their number beyond the limit.
func TestBacklog(t *testing.T) {
	t.Parallel()
	store := eventstoretest.New(t)
	filter := eventstore.Filter{Streams: []string{events.StreamTags}}
	if b, err := store.Backlog(t.Context(), eventstore.Position{}, filter, 10); b != (logreader.Backlog{}) ||
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
