package commands

import (
	"strconv"
	"testing"

	"github.com/google/uuid"

	"linkledger/commands/audit"
	"linkledger/commands/commandstest"
	"linkledger/events"
	"linkledger/events/eventstore"
)

// BenchmarkHistory reads the history of a link that was changed 1,000 times.
func BenchmarkHistory(b *testing.B) {
	s := newStack(b)
	created := s.CreateURLs(b.Context(), request("a"), []CreateURL{
		{LongURL: "https://example.com/", CustomHash: "one", Tags: []string{"red", "blue"}},
	}).Items[0]
	if created.Err != nil {
		b.Fatal(created.Err)
	}
	changes := make([]events.Event, 1000)
	for i := range changes {
		changes[i] = events.URLRetargeted{LongURL: "https://example.com/" + strconv.Itoa(i), At: commandstest.At}
	}
	r := request("a")
	r.Command = uuid.New()
	if _, err := s.streams.Append(
		b.Context(), r, events.LinkStream(created.URL.ID), eventstore.Revision(0), changes...,
	); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		history, err := s.History(b.Context(), audit.HistoryQuery{Hash: "one", Account: "a"})
		if err != nil || len(history.Entries) != 1002 {
			b.Fatalf("%d entries, %v", len(history.Entries), err)
		}
	}
}
