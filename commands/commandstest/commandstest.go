// Package commandstest contains helpers that the tests of commands share.
package commandstest

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
)

// At is a fixed time for tests.
var At = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// Ptr returns a pointer to v.
func Ptr[T any](v T) *T { return &v }

// Together runs f concurrently for 0 to n-1 and waits for all calls.
func Together(n int, f func(int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { f(i) })
	}
	all.Wait()
}

// Created returns the creation event of a link.
func Created() events.URLCreated {
	return events.URLCreated{
		URLID: "u", Account: "a", Hash: "spring", ClaimRevision: 3, LongURL: "https://example.com",
		Note:     "n",
		Settings: events.Settings{ExpirationDate: "2027-01-31"}, Tags: []string{"t1"}, At: At,
	}
}

// AppendAll appends events to a stream. at is the last revision of the stream. AppendAll splits the
// events into appends of a size that an event store accepts.
func AppendAll(
	t testing.TB, store *eventstore.Store, stream string, at eventstore.Revision,
	all ...events.Event,
) {
	t.Helper()
	const most = 1000
	for part := range slices.Chunk(all, most) {
		_, err := store.Append(t.Context(), eventstore.Write{
			Stream: stream, Expected: at, Command: uuid.New(),
			Metadata: events.Metadata{Account: "a", RequestID: "request"}, Events: part,
		})
		if err != nil {
			t.Fatal(err)
		}
		at += eventstore.Revision(len(part))
	}
}
