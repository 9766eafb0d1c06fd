// Package eventstoretest gives tests an event store of their own: the embedded one, in memory, spoken to over gRPC.
package eventstoretest

import (
	"net"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"linkledger/events/embedded"
	"linkledger/events/eventstore"
)

// Serve starts an embedded event store for the length of the test and returns its connection string.
func Serve(t testing.TB) string {
	t.Helper()
	server, err := embedded.Open(embedded.Config{Dir: "events", FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Errorf("close the event store: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serve the event store: %v", err)
		}
	})
	return "esdb://" + listener.Addr().String() + "?tls=false"
}

// New returns a connection to an event store of the test's own.
func New(t testing.TB) *eventstore.Store {
	t.Helper()
	return Open(t, Serve(t))
}

// Open connects to an event store for the length of the test.
func Open(t testing.TB, url string) *eventstore.Store {
	t.Helper()
	store, err := eventstore.Open(eventstore.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	return store
}
