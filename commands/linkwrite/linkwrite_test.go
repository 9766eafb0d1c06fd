package linkwrite_test

import (
	"errors"
	"log/slog"
	"slices"
	"testing"

	"github.com/google/uuid"

	"linkledger/commands"
	"linkledger/commands/access"
	"linkledger/commands/domain"
	"linkledger/commands/hashes"
	"linkledger/commands/linkwrite"
	"linkledger/commands/streams"
	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
)

func TestMain(m *testing.M) { eventstoretest.Main(m) }

// account has one link with the hash "one" and the tag "docs", on a private event store.
type account struct {
	*linkwrite.Links
	handler *commands.Handler
	store   *eventstore.Store
	link    domain.Link
}

func newAccount(t *testing.T) *account {
	t.Helper()
	store := eventstoretest.New(t)
	read := streams.New(streams.Config{Store: store})
	a := &account{
		Links:   linkwrite.New(read, hashes.New(read), slog.New(slog.DiscardHandler)),
		handler: commands.NewHandler(commands.Config{Streams: read}), store: store,
	}
	made := a.handler.CreateURLs(t.Context(), request(""), []commands.CreateURL{
		{LongURL: "https://example.com/1", CustomHash: "one", Tags: []string{"docs"}},
	}).Items[0]
	if made.Err != nil {
		t.Fatal(made.Err)
	}
	a.link = made.URL
	return a
}

// request returns a request of the account a, whose caller is bound to a tag expression.
func request(bound string) domain.Request {
	r := domain.Request{Account: "a", Command: uuid.New()}
	if bound != "" {
		r.Bound, _ = access.Bound(bound)
	}
	return r
}

// TestFind finds a link by its hash and by its id, for callers who see it and for others.
func TestFind(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	other := request("")
	other.Account = "b"
	for name, test := range map[string]struct {
		r       domain.Request
		hash    string
		refused domain.Kind
	}{
		"its account":              {request(""), "one", 0},
		"another account":          {other, "one", domain.URLNotFound},
		"another hash":             {request(""), "two", domain.URLNotFound},
		"no hash":                  {request(""), "a b", domain.InvalidHash},
		"bound to its tag":         {request("docs"), "one", 0},
		"bound to another tag":     {request("news"), "one", domain.URLNotFound},
		"bound to others":          {request("~docs"), "one", domain.URLNotFound},
		"bound without an unknown": {request("docs&~news"), "one", domain.URLNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, _, err := a.Attempt(test.r).Find(t.Context(), linkwrite.Whole, linkwrite.Ref{Hash: test.hash})
			if domain.KindOf(err) != test.refused || (err == nil) != (found.ID == a.link.ID) {
				t.Errorf("found %q under its hash, %v", found.ID, err)
			}
			if test.hash != "one" {
				return
			}
			found, _, err = a.Attempt(test.r).Find(t.Context(), linkwrite.Whole, linkwrite.Ref{ID: a.link.ID})
			if domain.KindOf(err) != test.refused || (err == nil) != (found.ID == a.link.ID) {
				t.Errorf("found %q by its id, %v", found.ID, err)
			}
		})
	}
}

// TestAttemptReadsTagsOnce renames a tag during an attempt, which goes by the tags that it has read.
func TestAttemptReadsTagsOnce(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	r := request("docs")
	attempt := a.Attempt(r)
	if sees, err := attempt.Sees(t.Context(), a.link); err != nil || !sees {
		t.Fatalf("sees the link: %t, %v", sees, err)
	}
	if _, err := a.handler.RenameTag(t.Context(), request(""), "docs", "old"); err != nil {
		t.Fatal(err)
	}
	if err := attempt.StaysWithin(t.Context(), a.link, func() []events.Event { return nil }); err != nil {
		t.Errorf("the attempt has read the tags again: %v", err)
	}
	if sees, err := a.Attempt(r).Sees(t.Context(), a.link); err != nil || sees {
		t.Errorf("the next attempt sees the link: %t, %v", sees, err)
	}
}

// TestStaysWithin refuses that a link loses the tag that its caller is bound to.
func TestStaysWithin(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	untag := func() []events.Event { return []events.Event{events.URLUntagged{Tags: a.link.Tags}} }
	if err := a.Attempt(request("docs")).StaysWithin(t.Context(), a.link, untag); !errors.Is(err, domain.ErrLeavesBound) {
		t.Errorf("a link leaves the bound: %v", err)
	}
	if err := a.Attempt(request("")).StaysWithin(t.Context(), a.link, untag); err != nil {
		t.Errorf("without a bound: %v", err)
	}
}

// TestChange deletes a link twice by one command: it is deleted once, and its hash is released.
func TestChange(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	r, ref := request(""), linkwrite.Ref{Hash: "one"}
	failed := errors.New("refused")
	refuse := func(domain.Link) ([]events.Event, error) { return nil, failed }
	if _, err := a.Attempt(r).Change(t.Context(), linkwrite.Whole, ref, refuse); !errors.Is(err, failed) {
		t.Errorf("a refusal: %v", err)
	}
	end := func(u domain.Link) ([]events.Event, error) {
		return []events.Event{events.URLDeleted{Account: u.Account, Hash: u.Hash}}, nil
	}
	for _, first := range []bool{true, false} {
		done, err := a.Attempt(r).Change(t.Context(), linkwrite.Ending, ref, end)
		if err != nil || done.Changed != first || !done.URL.Deleted {
			t.Errorf("deleted %+v, %v; want a change: %t", done, err, first)
		}
	}
	loaded, err := a.store.Load(t.Context(), events.StreamHash+"one")
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, r := range loaded {
		types = append(types, r.Type)
	}
	if want := []string{"hash.claimed.v1", "hash.released.v1"}; !slices.Equal(types, want) {
		t.Errorf("the hash has %v, want %v", types, want)
	}
}
