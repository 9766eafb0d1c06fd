package commands

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/google/uuid"

	"linkledger/commands/audit"
	"linkledger/commands/commandstest"
	"linkledger/commands/domain"
	"linkledger/events"
	"linkledger/events/eventstore"
)

// taggedLink stores an account with inAccount tags and a link with the hash "one" that has the
// first onLink of them. It returns the id of the link.
func taggedLink(t testing.TB, store *eventstore.Store, inAccount, onLink int) string {
	t.Helper()
	ids := make([]string, inAccount)
	created := make([]events.Event, inAccount)
	for i := range ids {
		ids[i] = uuid.NewString()
		created[i] = events.TagCreated{
			TagID: ids[i], Account: "a", Label: "tag " + strconv.Itoa(i), At: commandstest.At,
		}
	}
	commandstest.AppendAll(t, store, events.StreamTags+"a", eventstore.NoStream, created...)
	id := uuid.NewString()
	commandstest.AppendAll(
		t, store, events.StreamHash+"one", eventstore.NoStream,
		events.HashClaimed{Hash: "one", URLID: id, Account: "a", At: commandstest.At},
	)
	commandstest.AppendAll(t, store, events.LinkStream(id), eventstore.NoStream,
		events.URLCreated{
			URLID: id, Account: "a", Hash: "one", LongURL: "https://example.com/", Tags: ids[:onLink],
			At: commandstest.At,
		})
	return id
}

// BenchmarkHistoryOfTagged reads a page of one event from the history of a link with tags.
func BenchmarkHistoryOfTagged(b *testing.B) {
	for _, tags := range []int{100, 1_000, 4_000} {
		for _, changes := range []int{100, 1_000} {
			b.Run(fmt.Sprintf("tags=%d/changes=%d", tags, changes), func(b *testing.B) {
				s := newStack(b)
				id := taggedLink(b, s.store, tags, tags/4)
				retargeted := make([]events.Event, changes)
				for i := range retargeted {
					retargeted[i] = events.URLRetargeted{
						LongURL: "https://example.com/" + strconv.Itoa(i), At: commandstest.At,
					}
				}
				commandstest.AppendAll(b, s.store, events.LinkStream(id), 0, retargeted...)
				for b.Loop() {
					if _, err := s.History(b.Context(), audit.HistoryQuery{Hash: "one", Account: "a"}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(tags+changes), "ns/event")
			})
		}
	}
}

// BenchmarkCreateTagged creates links with a tag in accounts whose tags were renamed once.
func BenchmarkCreateTagged(b *testing.B) {
	for _, tags := range []int{10, 1_000, domain.MaxAccountTags} {
		b.Run(fmt.Sprintf("tags=%d", tags), func(b *testing.B) {
			s := newStack(b)
			taggedLink(b, s.store, tags, 1)
			for b.Loop() {
				items := []CreateURL{{LongURL: "https://example.com/", Tags: []string{"tag 1", "tag 2"}}}
				if err := s.CreateURLs(b.Context(), request("a"), items).Items[0].Err; err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
