package httpapi

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/httpapi/apierror"
	"linkledger/projections"
	"linkledger/projections/engine"
	"linkledger/queries"
)

// setAside appends an event, such as one that contradicts its stream, past all checks of commands, and waits until
// projections have passed it or set it aside.
func (s *stack) setAside(t *testing.T, stream string, e events.Event, by ...string) {
	t.Helper()
	last, err := s.store.Last(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	appended, err := s.store.Append(t.Context(), eventstore.Write{
		Stream: stream, Expected: last.Revision, Command: uuid.New(), Events: []events.Event{e},
	})
	for _, name := range by {
		if err == nil {
			err = s.waiter.Wait(withTimeout(t), name, appended.Position.Commit)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// late checks that an answer says that a stored change has no effect.
func (a *answer) late() {
	a.t.Helper()
	a.is(http.StatusServiceUnavailable, apierror.CodeUnknown)
	a.has("cannot take effect")
}

// sees checks which links a bound key sees, in each way in which it can read them.
func (c *client) sees(links ...string) {
	c.t.Helper()
	for _, path := range []string{"/v3/urls", "/v3/urls?tags=~archived", "/v3/urls?search=example"} {
		a := c.must("GET", path, "")
		if len(a.URLs) != len(links) || int(a.Page.TotalCount) != len(links) {
			c.t.Errorf("%s: %d links of %d, want %q", path, len(a.URLs), a.Page.TotalCount, links)
		}
	}
	if n := c.counter("urls"); n != int64(len(links)) {
		c.t.Errorf("the account has %d links, want %q", n, links)
	}
}

// hides checks that a bound key does not see a link, in each way in which it can name it.
func (c *client) hides(hash, asOf string) {
	c.t.Helper()
	missing := func(a *answer) { c.t.Helper(); a.is(http.StatusNotFound, apierror.CodeURLNotFound) }
	missing(c.call("GET", "/v3/urls/"+hash, ""))
	missing(c.at("/v3/urls/"+hash, asOf))
	missing(c.call("GET", "/v3/stats/"+hash, ""))
	missing(c.call("DELETE", "/v3/urls/"+hash, ""))
	if a := c.call("GET", "/v3/tags", ""); len(a.Tags) != 0 {
		c.t.Errorf("tags %+v", a.Tags)
	}
	if a := c.at("/v3/urls", asOf); len(a.URLs) != 0 {
		c.t.Errorf("in the past %+v", a.URLs)
	}
}

// TestBoundsWhileTagsAreSetAside sets the tags of an account aside. It checks that keys which are bound to labels see
// nothing until the labels are those of the log again, and that changes of tags are not answered as done.
func TestBoundsWhileTagsAreSetAside(t *testing.T) {
	t.Parallel()
	for name, interval := range map[string]time.Duration{"tried": time.Minute, "left": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStackThat(t, engine.Config{RetryInterval: interval}, eventstoretest.Serve(t))
			s.syncClock()
			owner, other := s.client(t, "owner"), s.client(t, "other")
			owner.create(`"long_url":"https://example.com/","custom_hash":"both","tags":["public","plain"]`)
			owner.must("POST", "/v3/tags", `{"label":"secret"}`)
			owner.must("POST", "/v3/tags", `{"label":"loose"}`)
			bounds := map[string]*client{}
			for _, bound := range []string{`+public`, `~secret`, `public|~plain`, `public&>2020-01-01`} {
				bounds[bound] = owner.withKey(`"tags":"` + bound + `"`)
				bounds[bound].sees("both")
			}
			open := owner.withKey(`"tags":"~archived"`) // names no label
			other.create(`"long_url":"https://example.com/","custom_hash":"other","tags":["public"]`)
			neighbour := other.withKey(`"tags":"+public"`)
			before := s.syncClock()

			stream := events.StreamTags + owner.id
			s.setAside(t, stream, events.TagDeleted{TagID: "no id", At: *s.now.Load()}, projections.Tags, projections.History)
			now := s.syncClock()
			for _, c := range bounds {
				c.sees()
				c.hides("both", before)
				c.hides("both", now)
			}
			open.sees("both")
			neighbour.sees("other")

			for range 2 { // also a repeat, which finds nothing left to store
				owner.call("PATCH", "/v3/tags/loose", `{"label":"looser"}`)
				owner.call("PATCH", "/v3/tags/looser", `{"label":"looser"}`).late()
				owner.call("POST", "/v3/tags", `{"label":"new"}`).late()
				owner.call("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/","tags":["fresh"]}]}`).late()
				owner.call("PATCH", "/v3/urls/both", `{"urls":[{"tags":["+fresh"]}]}`).late()
			}
			owner.call("DELETE", "/v3/tags/looser", "").late()
			owner.must("PATCH", "/v3/urls/both", `{"urls":[{"note":"n"}]}`)
			owner.must("PATCH", "/v3/urls/both", `{"urls":[{"tags":["+public"]}]}`)
			a := owner.call("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/1"},{"long_url":"https://example.com/2","tags":["fresh"]}]}`)
			if a.is(http.StatusOK, apierror.CodeOK); a.URLs[0].code() != apierror.CodeOK || a.URLs[1].code() != apierror.CodeUnknown {
				t.Errorf("%+v", a.URLs)
			}
			other.must("POST", "/v3/tags", `{"label":"new"}`)
			neighbour.sees("other")

			for _, name := range []string{projections.Tags, projections.History} {
				if _, err := projections.DiscardDeadLetters(t.Context(), s.db, name, ""); err != nil {
					t.Fatal(err)
				}
			}
			owner.must("POST", "/v3/tags", `{"label":"newest"}`)
			if a := bounds["+public"].must("GET", "/v3/urls/both", ""); len(a.URLs) != 1 {
				t.Errorf("%+v", a.URLs)
			}
		})
	}
}

// TestLinksThatAreSetAside sets a link aside. It checks that keys which are bound to labels do not see it, because it
// may have another tag meanwhile, and that no change of it is answered as done.
func TestLinksThatAreSetAside(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.syncClock()
	owner := s.client(t, "owner")
	owner.must("POST", "/v3/tags", `{"label":"secret"}`)
	for _, hash := range []string{"one", "two"} {
		owner.create(`"long_url":"https://example.com/","custom_hash":"` + hash + `","tags":["public"]`)
	}
	bound := owner.withKey(`"tags":"public&~secret"`)
	victim := owner.create(`"long_url":"https://example.com/","tags":["public"]`) // its stream is that of its hash
	for _, hash := range []string{"one", victim.Hash} {
		link, err := queries.New(s.db).LinkByHash(t.Context(), uuid.MustParse(owner.id), hash)
		if err != nil {
			t.Fatal(err)
		}
		s.setAside(t, events.LinkStream(link.ID.String()), events.URLUntagged{Tags: []string{"no id"}, At: *s.now.Load()}, projections.Links, projections.History)
	}
	now := s.syncClock()
	bound.sees("two")
	for _, hash := range []string{"one", victim.Hash} {
		bound.call("GET", "/v3/urls/"+hash, "").is(http.StatusNotFound, apierror.CodeURLNotFound)
		bound.at("/v3/urls/"+hash, now).is(http.StatusNotFound, apierror.CodeURLNotFound)
		for range 2 {
			owner.call("PATCH", "/v3/urls/"+hash, `{"urls":[{"tags":["+secret"]}]}`).late()
			owner.call("PATCH", "/v3/urls/"+hash, `{"urls":[{"note":"n"}]}`).late()
		}
	}
	owner.call("PATCH", "/v3/urls?hashes=one,two", `{"urls":[{"note":"m"}]}`).is(http.StatusOK, apierror.CodeOK)
	owner.call("PATCH", "/v3/urls?tags=public", `{"urls":[{"note":"o"}]}`).late()
	owner.must("DELETE", "/v3/urls/"+victim.Hash, "")
	owner.must("DELETE", "/v3/urls?hashes=one,two", "")
	for _, hash := range []string{"one", "two", victim.Hash} {
		owner.call("GET", "/v3/urls/"+hash, "").is(http.StatusNotFound, apierror.CodeURLNotFound)
		if a := s.visit(t, "GET", "/"+hash); a.status != http.StatusNotFound && a.status != http.StatusGone {
			t.Errorf("the deleted link %s answers %d", hash, a.status)
		}
	}
	owner.call("POST", "/v3/urls/one/restore", "{}").late()
}
