package httpapi_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"linkledger/commands/hashes"
	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/openapi"
	"linkledger/httpapi/response"
	"linkledger/httpapi/signin"
	v3 "linkledger/httpapi/v3"
)

// TestRoutesAreReserved checks that no short link can hide behind a route, or look as if it were one.
func TestRoutesAreReserved(t *testing.T) {
	t.Parallel()
	docs, err := openapi.Routes()
	if err != nil {
		t.Fatal(err)
	}
	pages := httpapitest.New(t).Server.Pages().Routes()
	roots := make(map[string]bool)
	for _, route := range slices.Concat((&v3.API{}).Routes(), docs, pages, (&signin.Handler{}).Routes()) {
		root, _, _ := strings.Cut(strings.TrimPrefix(route.Path, "/"), "/")
		roots[root] = true
		if hashes.Valid(root) && (!hashes.Served(root) || !hashes.Reserved(strings.ToUpper(root))) {
			t.Errorf("a short link can have the hash %q, but there is a route %s", root, route.Path)
		}
	}
	if !roots["v3"] || !roots["console"] {
		t.Errorf("the roots are %v", roots)
	}
}

// TestHashesThatLookLikeTheService checks that no link gets such a hash, and that one of before keeps
// it: it redirects, and its owner edits, renames, deletes and restores it.
func TestHashesThatLookLikeTheService(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	c.Create(`"long_url":"https://example.com/","custom_hash":"plain"`)
	for _, hash := range []string{"Console", "V3", "v4", "api", "Admin", "LOGIN", "health", "metrics", "robots", "favicon"} {
		for _, call := range []struct{ method, path, body string }{
			{"POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"HASH"}]}`},
			{"POST", "/v3/urls?disable_long_url_duplicates=1", `{"urls":[{"long_url":"https://example.com/","custom_hash":"HASH"}]}`},
			{"PATCH", "/v3/urls/plain", `{"urls":[{"custom_hash":"HASH"}]}`},
		} {
			a := c.Call(call.method, call.path, strings.ReplaceAll(call.body, "HASH", hash))
			a.Is(http.StatusOK, apierror.CodeOK)
			a.URLs[0].Failed(t, apierror.CodeHashUnavailable, "reserved")
		}
	}
	c.Read("plain")

	for _, hash := range []string{"Console", "V3", "api"} {
		id, now := uuid.Must(uuid.NewV7()).String(), s.Now()
		appendAll(t, s, events.StreamHash+hash, eventstore.NoStream, []events.Event{
			events.HashClaimed{Hash: hash, URLID: id, Account: c.ID, At: now},
		})
		appendAll(t, s, events.LinkStream(id), eventstore.NoStream, []events.Event{
			events.URLCreated{URLID: id, Account: c.ID, Hash: hash, LongURL: "https://example.com/" + hash, At: now},
		})
		s.CatchUp(t)
		redirects := func(status int) { t.Helper(); httpapitest.Equal(t, hash, s.Visit(t, "GET", "/"+hash).Status, status) }
		redirects(http.StatusFound)
		httpapitest.Equal(t, "note", c.Must("PATCH", "/v3/urls/"+hash, `{"urls":[{"note":"x","custom_hash":"`+hash+`"}]}`).URLs[0].Note, "x")
		known := c.Must("POST", "/v3/urls?disable_long_url_duplicates=1",
			`{"urls":[{"long_url":"https://example.com/`+hash+`","custom_hash":"`+hash+`"}]}`).URLs[0]
		httpapitest.Equal(t, "known link", known.Note, "x")
		batch := c.Must("PATCH", "/v3/urls/"+hash, `{"urls":[{"custom_hash":"moved-`+hash+`"}]}`).Header.Get(response.HeaderBatchID)
		c.Must("POST", "/v3/batches/"+batch+"/undo", "")
		redirects(http.StatusFound)
		c.Must("DELETE", "/v3/urls/"+hash, "")
		redirects(http.StatusGone)
		c.Must("POST", "/v3/urls/"+hash+"/restore", "")
		redirects(http.StatusFound)
	}
}
