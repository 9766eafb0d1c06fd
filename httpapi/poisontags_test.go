package httpapi_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/httpapitest"
	"linkledger/projections"
	"linkledger/projections/engine"
	"linkledger/queries"
)

// late checks that an answer says that a stored change has no effect.
func late(a *httpapitest.Answer) {
	a.T.Helper()
	a.Is(http.StatusServiceUnavailable, apierror.CodeUnknown)
	a.Has("cannot take effect")
}

// sees checks which links a bound key sees, in each way in which it can read them.
func sees(c *httpapitest.Client, links ...string) {
	c.T.Helper()
	for _, path := range []string{"/v3/urls", "/v3/urls?tags=~archived", "/v3/urls?search=example"} {
		a := c.Must("GET", path, "")
		if len(a.URLs) != len(links) || int(a.Page.TotalCount) != len(links) {
			c.T.Errorf("%s: %d links of %d, want %q", path, len(a.URLs), a.Page.TotalCount, links)
		}
	}
	if n := c.Counter("urls"); n != int64(len(links)) {
		c.T.Errorf("the account has %d links, want %q", n, links)
	}
}

// hides checks that a bound key does not see a link, in each way in which it can name it.
func hides(c *httpapitest.Client, hash, asOf string) {
	c.T.Helper()
	missing := func(a *httpapitest.Answer) { c.T.Helper(); a.Is(http.StatusNotFound, apierror.CodeURLNotFound) }
	missing(c.Call("GET", "/v3/urls/"+hash, ""))
	missing(c.At("/v3/urls/"+hash, asOf))
	missing(c.Call("GET", "/v3/stats/"+hash, ""))
	missing(c.Call("DELETE", "/v3/urls/"+hash, ""))
	if a := c.Call("GET", "/v3/tags", ""); len(a.Tags) != 0 {
		c.T.Errorf("tags %+v", a.Tags)
	}
	if a := c.At("/v3/urls", asOf); len(a.URLs) != 0 {
		c.T.Errorf("in the past %+v", a.URLs)
	}
}

// TestBoundsWhileTagsAreSetAside sets the tags of an account aside. It checks that keys which are bound to labels see
// nothing until the read models have the labels of the log again, and that changes of tags are not answered as done.
func TestBoundsWhileTagsAreSetAside(t *testing.T) {
	t.Parallel()
	for name, interval := range map[string]time.Duration{"tried": time.Minute, "left": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httpapitest.NewProjecting(t, engine.Config{RetryInterval: interval}, eventstoretest.Serve(t))
			s.SyncClock()
			owner, other := s.Client(t, "owner"), s.Client(t, "other")
			owner.Create(`"long_url":"https://example.com/","custom_hash":"both","tags":["public","plain"]`)
			owner.Must("POST", "/v3/tags", `{"label":"secret"}`)
			owner.Must("POST", "/v3/tags", `{"label":"loose"}`)
			bounds := map[string]*httpapitest.Client{}
			for _, bound := range []string{`+public`, `~secret`, `public|~plain`, `public&>2020-01-01`} {
				bounds[bound] = owner.WithKey(`"tags":"` + bound + `"`)
				sees(bounds[bound], "both")
			}
			open := owner.WithKey(`"tags":"~archived"`) // names no label
			other.Create(`"long_url":"https://example.com/","custom_hash":"other","tags":["public"]`)
			neighbour := other.WithKey(`"tags":"+public"`)
			before := s.SyncClock()

			stream := events.StreamTags + owner.ID
			s.SetAside(t, stream, events.TagDeleted{TagID: "no id", At: s.Now()}, projections.Tags, projections.History)
			now := s.SyncClock()
			for _, c := range bounds {
				sees(c)
				hides(c, "both", before)
				hides(c, "both", now)
			}
			sees(open, "both")
			sees(neighbour, "other")

			for range 2 { // also a repeat, which finds nothing left to store
				owner.Call("PATCH", "/v3/tags/loose", `{"label":"looser"}`)
				late(owner.Call("PATCH", "/v3/tags/looser", `{"label":"looser"}`))
				late(owner.Call("POST", "/v3/tags", `{"label":"new"}`))
				late(owner.Call("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/","tags":["fresh"]}]}`))
				late(owner.Call("PATCH", "/v3/urls/both", `{"urls":[{"tags":["+fresh"]}]}`))
			}
			late(owner.Call("DELETE", "/v3/tags/looser", ""))
			owner.Must("PATCH", "/v3/urls/both", `{"urls":[{"note":"n"}]}`)
			owner.Must("PATCH", "/v3/urls/both", `{"urls":[{"tags":["+public"]}]}`)
			a := owner.Call("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/1"},{"long_url":"https://example.com/2","tags":["fresh"]}]}`)
			if a.Is(http.StatusOK, apierror.CodeOK); a.URLs[0].Code() != apierror.CodeOK || a.URLs[1].Code() != apierror.CodeUnknown {
				t.Errorf("%+v", a.URLs)
			}
			other.Must("POST", "/v3/tags", `{"label":"new"}`)
			sees(neighbour, "other")

			for _, name := range []string{projections.Tags, projections.History} {
				if _, err := projections.DiscardDeadLetters(t.Context(), s.DB, name, ""); err != nil {
					t.Fatal(err)
				}
			}
			owner.Must("POST", "/v3/tags", `{"label":"newest"}`)
			if a := bounds["+public"].Must("GET", "/v3/urls/both", ""); len(a.URLs) != 1 {
				t.Errorf("%+v", a.URLs)
			}
		})
	}
}

// TestLinksThatAreSetAside sets a link aside. It checks that keys which are bound to labels do not see it, because it
// may have another tag meanwhile, and that no change of it is answered as done.
func TestLinksThatAreSetAside(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	s.SyncClock()
	owner := s.Client(t, "owner")
	owner.Must("POST", "/v3/tags", `{"label":"secret"}`)
	for _, hash := range []string{"one", "two"} {
		owner.Create(`"long_url":"https://example.com/","custom_hash":"` + hash + `","tags":["public"]`)
	}
	bound := owner.WithKey(`"tags":"public&~secret"`)
	victim := owner.Create(`"long_url":"https://example.com/","tags":["public"]`) // its stream is the stream of its hash
	for _, hash := range []string{"one", victim.Hash} {
		link, err := queries.New(s.DB).LinkByHash(t.Context(), uuid.MustParse(owner.ID), hash)
		if err != nil {
			t.Fatal(err)
		}
		s.SetAside(t, events.LinkStream(link.ID.String()), events.URLUntagged{Tags: []string{"no id"}, At: s.Now()}, projections.Links, projections.History)
	}
	now := s.SyncClock()
	sees(bound, "two")
	for _, hash := range []string{"one", victim.Hash} {
		bound.Call("GET", "/v3/urls/"+hash, "").Is(http.StatusNotFound, apierror.CodeURLNotFound)
		bound.At("/v3/urls/"+hash, now).Is(http.StatusNotFound, apierror.CodeURLNotFound)
		for range 2 {
			late(owner.Call("PATCH", "/v3/urls/"+hash, `{"urls":[{"tags":["+secret"]}]}`))
			late(owner.Call("PATCH", "/v3/urls/"+hash, `{"urls":[{"note":"n"}]}`))
		}
	}
	owner.Call("PATCH", "/v3/urls?hashes=one,two", `{"urls":[{"note":"m"}]}`).Is(http.StatusOK, apierror.CodeOK)
	late(owner.Call("PATCH", "/v3/urls?tags=public", `{"urls":[{"note":"o"}]}`))
	owner.Must("DELETE", "/v3/urls/"+victim.Hash, "")
	owner.Must("DELETE", "/v3/urls?hashes=one,two", "")
	for _, hash := range []string{"one", "two", victim.Hash} {
		owner.Call("GET", "/v3/urls/"+hash, "").Is(http.StatusNotFound, apierror.CodeURLNotFound)
		if a := s.Visit(t, "GET", "/"+hash); a.Status != http.StatusNotFound && a.Status != http.StatusGone {
			t.Errorf("the deleted link %s answers %d", hash, a.Status)
		}
	}
	late(owner.Call("POST", "/v3/urls/one/restore", "{}"))
}
