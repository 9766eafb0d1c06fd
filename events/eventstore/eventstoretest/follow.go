package eventstoretest

import (
	"context"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
)

// Follow receives and discards events over a plain subscription of the official client. It receives
// the events of streams with the prefixes, from the start of the log to the commit position last.
// Benchmarks use it as their baseline.
func Follow(t testing.TB, url string, prefixes []string, last uint64) {
	t.Helper()
	config, err := esdb.ParseConnectionString(url)
	if err != nil {
		t.Fatal(err)
	}
	config.Logger = esdb.NoopLogging()
	client, err := esdb.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }() // never fails
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	subscription, err := client.SubscribeToAll(ctx, esdb.SubscribeToAllOptions{
		From: esdb.Start{}, MaxSearchWindow: 4096, CheckpointInterval: 1,
		Filter: &esdb.SubscriptionFilter{Type: esdb.StreamFilterType, Prefixes: prefixes},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = subscription.Close() }() // never fails
	for {
		received := subscription.Recv()
		switch {
		case received.SubscriptionDropped != nil:
			t.Fatalf("the subscription dropped: %v", received.SubscriptionDropped.Error)
		case received.EventAppeared != nil:
			if received.EventAppeared.OriginalEvent().Position.Commit >= last {
				return
			}
		}
	}
}
