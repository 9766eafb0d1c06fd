package commands

import (
	"fmt"
	"testing"
	"time"

	"linkledger/commands/commandstest"
	"linkledger/commands/domain"
	"linkledger/commands/longurls"
	"linkledger/events"
	"linkledger/events/eventstore"
)

const longDestination = "https://example.com/same"

func (s *stack) unique(t *testing.T, account, hash string, known ...string) URLOutcome {
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

func TestUniqueURLs(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	first := s.mustUnique(t, "a", "")
	same := func(what string, got domain.Link) {
		t.Helper()
		if got.ID != first.ID || got.Hash != first.Hash {
			t.Errorf("%s: %+v, want %+v", what, got, first)
		}
	}
	same("again", s.mustUnique(t, "a", ""))
	same("under its hash", s.mustUnique(t, "a", first.Hash))
	if other := s.mustUnique(t, "b", ""); other.ID == first.ID {
		t.Error("another account's link was returned")
	}
	if err := s.unique(t, "b", first.Hash).Err; domain.KindOf(err) != domain.HashUnavailable {
		t.Errorf("another account's hash: %v", err)
	}
	if custom := s.mustUnique(t, "a", "free"); custom.ID == first.ID || custom.Hash != "free" {
		t.Errorf("a free hash: %+v", custom)
	}
	s.create(t, request("a"), CreateURL{LongURL: "https://example.com/other", CustomHash: "other"})
	if err := s.unique(t, "a", "other").Err; domain.KindOf(err) != domain.HashUnavailable {
		t.Errorf("a hash with another destination: %v", err)
	}
	same("after that", s.mustUnique(t, "a", ""))

	if _, err := s.edit(t, request("a"), first.Hash, EditURL{CustomHash: commandstest.Ptr("renamed")}); err != nil {
		t.Fatal(err)
	}
	if got := s.mustUnique(t, "a", ""); got.ID != first.ID || got.Hash != "renamed" {
		t.Errorf("a renamed link: %+v", got)
	}
}

func TestUniqueURLIsMadeAnew(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	first := s.mustUnique(t, "a", "")
	if err := s.DeleteURLs(t.Context(), request("a"), ByHash(first.Hash))[0].Err; err != nil {
		t.Fatal(err)
	}
	second := s.mustUnique(t, "a", "", first.ID)
	if second.ID == first.ID {
		t.Fatal("a deleted link was returned")
	}
	if _, err := s.edit(
		t, request("a"), second.Hash, EditURL{LongURL: commandstest.Ptr("https://example.com/moved")},
	); err != nil {
		t.Fatal(err)
	}
	third := s.mustUnique(t, "a", "", first.ID, second.ID)
	if third.ID == second.ID {
		t.Fatal("a link that leads elsewhere was returned")
	}
	if _, err := s.edit(t, request("a"), second.Hash, EditURL{LongURL: commandstest.Ptr(longDestination)}); err != nil {
		t.Fatal(err)
	}
	if got := s.mustUnique(t, "a", "", second.ID); got.ID != third.ID {
		t.Errorf("after the second link has the destination again: %+v", got)
	}
}

// TestKnownLinkIsUsed checks that links created without Unique, or edited to have the destination,
// are found among the known ids.
func TestKnownLinkIsUsed(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	plain := s.create(t, request("a"), CreateURL{LongURL: longDestination})
	foreign := s.create(t, request("b"), CreateURL{LongURL: longDestination})
	elsewhere := s.create(t, request("a"), CreateURL{LongURL: "https://example.com/other"})
	if got := s.mustUnique(t, "a", "", "no-such-link", foreign.ID, elsewhere.ID, plain.ID); got.ID != plain.ID {
		t.Errorf("got %+v, want %+v", got, plain)
	}
}

func TestEqualItemsOfOneBatch(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	items := []CreateURL{
		{LongURL: longDestination, CustomHash: "mine", Unique: true},
		{LongURL: longDestination, Unique: true},
		{LongURL: longDestination, CustomHash: "mine", Unique: true},
		{LongURL: longDestination, Unique: true},
	}
	for i, outcome := range s.CreateURLs(t.Context(), request("a"), items).Items {
		if outcome.Err != nil || outcome.URL.Hash != "mine" {
			t.Errorf("item %d: %+v", i, outcome)
		}
	}
}

func TestOneLinkPerLongURL(t *testing.T) {
	t.Parallel()
	for _, hash := range []string{"", "mine"} {
		t.Run("hash "+hash, func(t *testing.T) {
			t.Parallel()
			s := newStack(t)
			outcomes := make([]URLOutcome, 64)
			commandstest.Together(len(outcomes), func(i int) { outcomes[i] = s.unique(t, "a", hash) })
			for _, outcome := range outcomes {
				if outcome.Err != nil || outcome.URL.ID != outcomes[0].URL.ID {
					t.Errorf("%+v, want %+v", outcome, outcomes[0])
				}
			}
		})
	}
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
