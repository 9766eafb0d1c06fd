package archive_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/archive"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
)

// An operator exports the log. An auditor checks the file without an installation.
func ExampleCheck() {
	url, stop := eventstoretest.Memory()
	defer stop()
	store, err := eventstore.Open(eventstore.Config{URL: url})
	if err != nil {
		panic(err)
	}
	defer store.Close()
	ctx := context.Background()
	_, err = store.Append(ctx, eventstore.Write{
		Stream: "tags-acme", Expected: eventstore.NoStream, Command: uuid.New(),
		Events: []events.Event{events.TagCreated{TagID: "1", Account: "acme", Label: "news"}},
	})
	if err != nil {
		panic(err)
	}
	var file strings.Builder
	export, err := archive.Begin(ctx, store, &file, archive.Header{Format: archive.NDJSON})
	if err != nil {
		panic(err)
	}
	if _, err := export.Run(ctx, nil); err != nil {
		panic(err)
	}

	_, manifest, err := archive.Check(strings.NewReader(file.String()))
	fmt.Println(manifest.Count, "event,", err)
	altered := strings.Replace(file.String(), "tags-acme", "tags-evil", 1)
	_, _, err = archive.Check(strings.NewReader(altered))
	fmt.Println("altered:", errors.Is(err, archive.ErrDamaged))
	// Output:
	// 1 event, <nil>
	// altered: true
}
