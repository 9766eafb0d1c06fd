package linkstate_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/commands/streams"
	"linkledger/effects/webhooks/linkstate"
	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/tagexpr"
)

func TestMain(m *testing.M) { eventstoretest.Main(m) }

// TestStates reads a link and its tags at each event, although all later events are in the log.
func TestStates(t *testing.T) {
	t.Parallel()
	server := eventstoretest.Serve(t)
	store := eventstoretest.Open(t, server.URL())
	account, link, tag := uuid.NewString(), uuid.NewString(), uuid.NewString()
	at := time.Now()
	var recorded []eventstore.Recorded
	write := func(stream string, expected eventstore.Revision, e events.Event) {
		t.Helper()
		if _, err := store.Append(t.Context(), eventstore.Write{
			Stream: stream, Expected: expected, Command: uuid.New(), Metadata: events.Metadata{Account: account},
			Events: []events.Event{e},
		}); err != nil {
			t.Fatal(err)
		}
		last, err := store.Last(t.Context(), stream)
		if err != nil {
			t.Fatal(err)
		}
		recorded = append(recorded, last)
	}
	write("tags-"+account, eventstore.NoStream, events.TagCreated{TagID: tag, Account: account, Label: "News", At: at})
	write("url-"+link, eventstore.NoStream, events.URLCreated{
		URLID: link, Account: account, Hash: "one", LongURL: "https://example.com/", Tags: []string{tag}, At: at,
	})
	write("url-"+link, 0, events.URLRenamed{From: "one", To: "two", At: at})
	write("tags-"+account, 0, events.TagRenamed{TagID: tag, Label: "Old", At: at})
	write("url-"+link, 1, events.URLDeleted{Account: account, Hash: "two", At: at})
	r := linkstate.New(streams.New(streams.Config{Store: store}), new(linkstate.Failing))
	if err := r.Preload(t.Context(), recorded, func(of string) bool { return of == account }); err != nil {
		t.Fatal(err)
	}
	was, is, lives, err := r.TagAt(t.Context(), account, tag, recorded[3])
	if err != nil || was.Label != "News" || is.Label != "Old" || !lives {
		t.Errorf("the tag was %q, and is %q, %t, %v", was.Label, is.Label, lives, err)
	}
	for i, want := range []string{
		1: " | one News", 2: "one News | two News", 4: "two Old | two Old deleted",
	} {
		if want == "" {
			continue
		}
		r.Reset()
		before, after, err := r.At(t.Context(), link, recorded[i])
		if got := text(before) + " | " + text(after); err != nil || got != want {
			t.Errorf("event %d: %q, %v; want %q", i, got, err, want)
		}
	}
	r.Reset()
	if err := r.Preload(t.Context(), recorded, func(of string) bool { return of == account }); err != nil {
		t.Fatal(err)
	}
	server.Stop() // everything was read before
	for i, want := range []string{1: "one News", 2: "two News", 3: "two Old", 4: "two Old deleted"} {
		if state, err := r.AsOf(t.Context(), link, recorded[i]); i > 0 && (err != nil || text(state) != want) {
			t.Errorf("as of event %d: %q, %v; want %q", i, text(state), err, want)
		}
	}
	if of := linkstate.AccountOf(recorded[0]); of != account {
		t.Errorf("the account is %q", of)
	}
}

func text(s linkstate.State) string {
	if s.Link.ID == "" {
		return ""
	}
	parts := []string{s.Link.Hash, strings.Join(s.Labels, " ")}
	if s.Link.Deleted {
		parts = append(parts, "deleted")
	}
	return strings.Join(parts, " ")
}

// TestMatches compares labels as tag expressions do.
func TestMatches(t *testing.T) {
	t.Parallel()
	expr, err := tagexpr.Parse("news&~old")
	if err != nil {
		t.Fatal(err)
	}
	var none linkstate.State
	if none.Matches(expr) {
		t.Error("no link matches")
	}
	for labels, want := range map[string]bool{"News": true, "NEWS x": true, "news OLD": false, "x": false} {
		s := linkstate.State{Labels: strings.Fields(labels)}
		s.Link.ID = "1"
		if s.Matches(expr) != want {
			t.Errorf("%s: %t", labels, !want)
		}
	}
}
