package commands

import (
	"fmt"
	"testing"
	"time"

	"linkledger/commands/commandstest"
	"linkledger/commands/domain"
	"linkledger/commands/linkwrite"
	"linkledger/commands/longurls"
	"linkledger/events"
	"linkledger/events/eventstore"
)

const longDestination = "https://example.com/same"

func (s *stack) unique(t *testing.T, account, hash string, known ...string) linkwrite.Outcome {
	t.Helper()
	return s.CreateURLs(t.Context(), request(account), []CreateURL{
		{LongURL: longDestination, CustomHash: hash, Unique: true, Known: known},
	}).Items[0]
}

func (s *stack) mustUnique(t *testing.T, account, hash string, known ...string) domain.Link {
	t.Helper()
	outcome := s.unique(t, account, hash, known...)
	if outcome.Err != nil {
		t.Fatal(outcome.Err)
	}
	return outcome.URL
}

// TestOrphanedLongURLIsTakenOver checks that the claim of a process that died before it created its
// link can be taken over. If that process was only slow, its link must not be created later.
func TestOrphanedLongURLIsTakenOver(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	item := CreateURL{LongURL: longDestination, Unique: true}
	found, err := s.longURLs.Claim(t.Context(), request("a"), "late", longDestination, nil, func() error { return nil })
	if err != nil || found.URL.ID != "" {
		t.Fatalf("claim: %+v, %v", found, err)
	}
	s.clock = s.clock.Add(longurls.CreationTimeout + time.Second)
	next := s.mustUnique(t, "a", "")
	s.wantTypes(t, "url-late", "url.creation_abandoned.v1")
	late := newLink{id: "late", hash: "late"}
	if _, err := s.Handler.create(t.Context(), request("a"), late, item, domain.Tags{}, nil); err == nil {
		t.Error("the abandoned link was created")
	}
	if got := s.mustUnique(t, "a", ""); got.ID != next.ID {
		t.Errorf("got %+v, want %+v", got, next)
	}
}

// TestAbandonedCommandIsRepeated checks that all repeats of a command whose first id was abandoned
// use the same new id.
func TestAbandonedCommandIsRepeated(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := request("a")
	r.Repeated = true
	abandoned, _, err := s.newURL(t.Context(), r.Item(0), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.streams.Append(
		t.Context(), request("a"), abandoned.stream(), eventstore.NoStream,
		events.CreationAbandoned{At: commandstest.At},
	); err != nil {
		t.Fatal(err)
	}
	var first string
	for i := range 3 {
		outcome := s.CreateURLs(t.Context(), r, []CreateURL{{LongURL: longDestination, Unique: true}}).Items[0]
		if got := fmt.Sprint(outcome.URL.ID, outcome.Err); i == 0 {
			first = got
		} else if got != first || outcome.URL.ID == abandoned.id {
			t.Errorf("repeat: %s, first %s", got, first)
		}
	}
}
