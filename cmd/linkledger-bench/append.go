package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"

	"linkledger/cmd/linkledger-bench/internal/installation"
	"linkledger/cmd/linkledger-bench/internal/load"
	"linkledger/cmd/linkledger-bench/internal/report"
	"linkledger/events"
	"linkledger/events/eventstore"
)

// appendCallers is the number of concurrent appends.
const appendCallers = 64

// appends measures appends of single events of 300 bytes, each durable in a stream of its own,
// through the client that the service uses for all writes. The control is a server that answers the
// same calls at once and stores nothing.
func (b *bench) appends(ctx context.Context) (r report.Result, err error) {
	c, url, err := installation.StartStore(ctx, b.program, b.path("appended"))
	if err != nil {
		return report.Result{}, err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	store, err := eventstore.Open(eventstore.Config{URL: url})
	if err != nil {
		return report.Result{}, err
	}
	defer store.Close()
	controlStore, err := eventstore.Open(eventstore.Config{URL: b.control.Store})
	if err != nil {
		return report.Result{}, err
	}
	defer controlStore.Close()
	return b.Compare(ctx, load.Comparison{
		Name: "appends", Unit: "events", Control: "bare gRPC append",
		Workers: appendCallers, Each: 1, Ours: appendTo(store), Bare: appendTo(controlStore),
		Server: c,
	})
}

func appendTo(store *eventstore.Store) load.Call {
	return appendEvent(
		store, events.StreamURL,
		events.URLRetargeted{LongURL: "https://example.com/" + strings.Repeat("x", 250)},
	)
}

// appendEvent returns a call that appends an event to a new stream each time.
func appendEvent(store *eventstore.Store, prefix string, e events.Event) load.Call {
	event := []events.Event{e}
	var streams atomic.Int64
	return func(ctx context.Context, _ int) error {
		_, err := store.Append(ctx, eventstore.Write{
			Stream: fmt.Sprintf("%s%d", prefix, streams.Add(1)), Expected: eventstore.NoStream,
			Command: uuid.New(), Events: event,
		})
		return err
	}
}
