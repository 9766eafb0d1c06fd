package longurls_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/commands"
	"linkledger/commands/commandstest"
	"linkledger/commands/domain"
	"linkledger/commands/hashes"
	"linkledger/commands/linkwrite"
	"linkledger/commands/longurls"
	"linkledger/commands/streams"
	"linkledger/events"
	"linkledger/events/eventstore/eventstoretest"
)

func TestMain(m *testing.M) { eventstoretest.Main(m) }

const longDestination = "https://example.com/same"

// stack has the commands, which claim long URLs, on a private event store.
type stack struct {
	*commands.Handler

	streams *streams.Streams
	clock   time.Time
}

func newStack(t *testing.T) *stack {
	t.Helper()
	s := &stack{clock: commandstest.At}
	s.streams = streams.New(streams.Config{
		Store: eventstoretest.New(t), Now: func() time.Time { return s.clock },
	})
	s.Handler = commands.NewHandler(commands.Config{Streams: s.streams})
	return s
}

func request(account string) domain.Request {
	return domain.Request{Account: account, ID: "request", Command: uuid.New()}
}

func (s *stack) create(t *testing.T, account string, item commands.CreateURL) domain.Link {
	t.Helper()
	outcome := s.CreateURLs(t.Context(), request(account), []commands.CreateURL{item}).Items[0]
	if outcome.Err != nil {
		t.Fatal(outcome.Err)
	}
	return outcome.URL
}

func (s *stack) edit(t *testing.T, hash string, edit commands.EditURL) {
	t.Helper()
	edit.Hash = hash
	if err := s.EditURLs(t.Context(), request("a"), []commands.EditURL{edit}).Items[0].Err; err != nil {
		t.Fatal(err)
	}
}

func (s *stack) unique(t *testing.T, account, hash string, known ...string) linkwrite.Outcome {
	t.Helper()
	return s.CreateURLs(t.Context(), request(account), []commands.CreateURL{
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
	s.create(t, "a", commands.CreateURL{LongURL: "https://example.com/other", CustomHash: "other"})
	if err := s.unique(t, "a", "other").Err; domain.KindOf(err) != domain.HashUnavailable {
		t.Errorf("a hash with another destination: %v", err)
	}
	same("after that", s.mustUnique(t, "a", ""))

	s.edit(t, first.Hash, commands.EditURL{CustomHash: commandstest.Ptr("renamed")})
	if got := s.mustUnique(t, "a", ""); got.ID != first.ID || got.Hash != "renamed" {
		t.Errorf("a renamed link: %+v", got)
	}
}

func TestUniqueURLIsMadeAnew(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	first := s.mustUnique(t, "a", "")
	if err := s.DeleteURLs(t.Context(), request("a"), linkwrite.ByHash(first.Hash))[0].Err; err != nil {
		t.Fatal(err)
	}
	second := s.mustUnique(t, "a", "", first.ID)
	if second.ID == first.ID {
		t.Fatal("a deleted link was returned")
	}
	s.edit(t, second.Hash, commands.EditURL{LongURL: commandstest.Ptr("https://example.com/moved")})
	third := s.mustUnique(t, "a", "", first.ID, second.ID)
	if third.ID == second.ID {
		t.Fatal("a link that leads elsewhere was returned")
	}
	s.edit(t, second.Hash, commands.EditURL{LongURL: commandstest.Ptr(longDestination)})
	if got := s.mustUnique(t, "a", "", second.ID); got.ID != third.ID {
		t.Errorf("after the second link has the destination again: %+v", got)
	}
}

// TestKnownLinkIsUsed checks that links created without Unique, or edited to have the destination,
// are found among the known ids.
func TestKnownLinkIsUsed(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	plain := s.create(t, "a", commands.CreateURL{LongURL: longDestination})
	foreign := s.create(t, "b", commands.CreateURL{LongURL: longDestination})
	elsewhere := s.create(t, "a", commands.CreateURL{LongURL: "https://example.com/other"})
	if got := s.mustUnique(t, "a", "", "no-such-link", foreign.ID, elsewhere.ID, plain.ID); got.ID != plain.ID {
		t.Errorf("got %+v, want %+v", got, plain)
	}
}

func TestEqualItemsOfOneBatch(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	items := []commands.CreateURL{
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
			outcomes := make([]linkwrite.Outcome, 64)
			commandstest.Together(len(outcomes), func(i int) { outcomes[i] = s.unique(t, "a", hash) })
			for _, outcome := range outcomes {
				if outcome.Err != nil || outcome.URL.ID != outcomes[0].URL.ID {
					t.Errorf("%+v, want %+v", outcome, outcomes[0])
				}
			}
		})
	}
}

// TestOrphanedClaim checks that a claim whose link was never created is free after a while, and that the link cannot be
// created later. The claim of the same link is repeated.
func TestOrphanedClaim(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	claims := longurls.New(s.streams, hashes.New(s.streams))
	reserved := 0
	claim := func(id string) longurls.Found {
		t.Helper()
		found, err := claims.Claim(
			t.Context(), request("a"), id, longDestination, nil, func() error { reserved++; return nil },
		)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	for _, id := range []string{"late", "late"} {
		if found := claim(id); found.URL.ID != "" || reserved != 1 {
			t.Errorf("%s: %+v after %d reservations", id, found, reserved)
		}
	}
	s.clock = s.clock.Add(longurls.CreationTimeout + time.Second)
	if found := claim("next"); found.URL.ID != "" || reserved != 2 {
		t.Errorf("%+v after %d reservations", found, reserved)
	}
	late, err := s.streams.Load(t.Context(), events.LinkStream("late"))
	if err != nil || len(late.Events) != 1 {
		t.Fatalf("%+v, %v", late.Events, err)
	}
	if _, ok := late.Events[0].(events.CreationAbandoned); !ok {
		t.Errorf("the late link begins with %+v", late.Events[0])
	}
}
