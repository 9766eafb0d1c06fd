package eventstore_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
)

// Two commands decide on the same state of a stream. The event store takes the first one, and the
// second one has to load the stream and decide again.
func ExampleStore_Append() {
	url, stop := eventstoretest.Memory() // EventStoreDB speaks the same protocol
	defer stop()
	store, err := eventstore.Open(eventstore.Config{URL: url})
	if err != nil {
		panic(err)
	}
	defer store.Close()

	ctx := context.Background()
	for _, label := range []string{"news", "blog"} {
		_, err := store.Append(ctx, eventstore.Write{
			Stream: "tags-acme", Expected: eventstore.NoStream, Command: uuid.New(),
			Events: []events.Event{events.TagCreated{TagID: label, Account: "acme", Label: label}},
		})
		fmt.Println(label, "conflicts:", errors.Is(err, eventstore.ErrWrongRevision))
	}
	stored, err := store.Load(ctx, "tags-acme")
	if err != nil {
		panic(err)
	}
	for _, r := range stored {
		fmt.Println(r.Revision, r.Type)
	}
	// Output:
	// news conflicts: false
	// blog conflicts: true
	// 0 tag.created.v1
}
