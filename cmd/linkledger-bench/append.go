package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
)

// appendCallers is how many append at a time.
const appendCallers = 64

var storeReady = regexp.MustCompile(`msg="event store is ready" url="([^"]+)"`)

// startStore runs the embedded event store alone and returns its connection string.
func (b *bench) startStore(ctx context.Context, folder string, flags ...string) (c *child, url string, err error) {
	args := append([]string{"eventstore", "--data", folder, "--listen", "127.0.0.1:0"}, flags...)
	if c, err = start(ctx, "event store is ready", b.program, args...); err != nil {
		return nil, "", err
	}
	return c, storeReady.FindStringSubmatch(c.greeting)[1], nil
}

// appends measures single events of 300 bytes, each durable in a stream of its own, through the client that every write
// of the service goes through. The control answers the same calls of the same client at once.
func (b *bench) appends(ctx context.Context) (r result, err error) {
	c, url, err := b.startStore(ctx, b.path("appended"))
	if err != nil {
		return result{}, err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	store, err := eventstore.Open(eventstore.Config{URL: url})
	if err != nil {
		return result{}, err
	}
	defer store.Close()
	nowhere, err := eventstore.Open(eventstore.Config{URL: b.control.store})
	if err != nil {
		return result{}, err
	}
	defer nowhere.Close()
	return b.compare(ctx, comparison{
		name: "appends", unit: "events", control: "bare gRPC append",
		workers: appendCallers, each: 1, ours: appendTo(store), bare: appendTo(nowhere), server: c,
	})
}

func appendTo(store *eventstore.Store) call {
	return appendEvent(store, events.StreamURL, events.URLRetargeted{LongURL: "https://example.com/" + strings.Repeat("x", 250)})
}

// appendEvent appends an event again and again, each time to a new stream.
func appendEvent(store *eventstore.Store, prefix string, e events.Event) call {
	event := []events.Event{e}
	var streams atomic.Int64
	return func(ctx context.Context, _ int) error {
		_, err := store.Append(ctx, eventstore.Write{
			Stream: fmt.Sprintf("%s%d", prefix, streams.Add(1)), Expected: eventstore.NoStream, Command: uuid.New(), Events: event,
		})
		return err
	}
}
