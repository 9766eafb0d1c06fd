package answered

import (
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/commands/commandstest"
	"linkledger/commands/domain"
	"linkledger/commands/streams"
	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
)

// TestFind finds a link through its life: made, renamed, deleted, and its hash taken by another link of the account.
func TestFind(t *testing.T) {
	t.Parallel()
	server := eventstoretest.Serve(t)
	written := streams.New(streams.Config{
		Store: eventstoretest.Open(t, server.URL()), Keys: commandstest.NewSealingKeys(), Seal: true,
	})
	links := New(written)
	account, at := uuid.NewString(), time.Now().UTC()
	last := make(map[string]eventstore.Revision)
	add := func(stream string, all ...events.Event) {
		t.Helper()
		revision, ok := last[stream]
		if !ok {
			revision = eventstore.NoStream
		}
		appended, err := written.Append(
			t.Context(), domain.Request{Account: account, Command: uuid.New()}, stream, revision, all...,
		)
		if err != nil {
			t.Fatal(err)
		}
		last[stream] = appended.Revision
	}
	find := func(hash, want string) {
		t.Helper()
		link, err := links.Find(t.Context(), hash)
		got := link.LongURL
		switch {
		case errors.Is(err, ErrNone):
			got = "none"
		case err != nil:
			t.Errorf("%s: %v", hash, err)
		case link.Deleted:
			got = "deleted"
		}
		if got != want {
			t.Errorf("%s leads to %s; want %s", hash, got, want)
		}
	}
	find("pg", "none")
	find("not valid", "none")
	id, _ := events.LinkOfHash("pg")
	add(events.StreamHash+"pg", events.URLCreated{
		ClaimsHash: true, URLID: id, Account: account, Hash: "pg", LongURL: "https://a.example/", Note: "n", At: at,
	})
	find("pg", "https://a.example/")
	add(events.StreamHash+"moved", events.HashClaimed{Hash: "moved", URLID: id, Account: account, At: at})
	find("moved", "none") // until the link has it
	add(events.StreamHash+"pg", events.URLRenamed{From: "pg", To: "moved", At: at})
	find("moved", "https://a.example/")
	find("pg", "none")
	other := uuid.NewString()
	add(events.StreamHash+"pg", events.HashClaimed{Hash: "pg", URLID: other, Account: account, At: at})
	add(events.StreamURL+other, events.URLCreated{
		URLID: other, Account: account, Hash: "pg", ClaimRevision: 2, LongURL: "https://b.example/", At: at,
	})
	find("pg", "https://b.example/")
	add(events.StreamURL+other, events.URLDeleted{Account: account, Hash: "pg", At: at})
	find("pg", "deleted")
	find("moved", "https://a.example/")
	server.Stop()
	if _, err := links.Find(t.Context(), "pg"); !errors.Is(err, eventstore.ErrUnavailable) {
		t.Errorf("without the event store: %v", err)
	}
}

// TestUnknownHashesAreBounded looks up more unknown hashes in a second than maxMisses allows. The excess look-ups fail
// with ErrBusy.
func TestUnknownHashesAreBounded(t *testing.T) {
	t.Parallel()
	links := New(streams.New(streams.Config{Store: eventstoretest.New(t)}))
	links.misses.SetLimit(1)
	var refused atomic.Bool
	commandstest.Together(4*maxMisses/10, func(i int) {
		_, err := links.Find(t.Context(), "x"+strconv.Itoa(i))
		if errors.Is(err, ErrBusy) {
			refused.Store(true)
		} else if !errors.Is(err, ErrNone) {
			t.Error(err)
		}
	})
	if !refused.Load() {
		t.Error("none is refused")
	}
}
