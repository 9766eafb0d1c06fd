package urls_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/commands/audit"
	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/httpapi"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
)

// appendAll appends events to a stream after a revision, as many per append as an append may have.
func appendAll(t *testing.T, s *httpapitest.Stack, stream string, at eventstore.Revision, all []events.Event) {
	t.Helper()
	const operationPortion = 1000
	for len(all) > 0 {
		part := all[:min(operationPortion, len(all))]
		appended, err := s.Store.Append(
			httpapitest.WithTimeout(t), eventstore.Write{Stream: stream, Expected: at, Command: uuid.New(), Events: part},
		)
		if err != nil {
			t.Fatal(err)
		}
		at, all = appended.Revision, all[len(part):]
	}
}

// overtagged stores a link under the hash "one" with more tags than are allowed now, in an account
// with many renamed tags.
func overtagged(t *testing.T, s *httpapitest.Stack, account string, onLink, inAccount int) {
	t.Helper()
	now := s.Now()
	ids := make([]string, inAccount)
	var tags []events.Event
	for i := range ids {
		ids[i] = uuid.NewString()
		tags = append(
			tags, events.TagCreated{TagID: ids[i], Account: account, Label: "tag " + strconv.Itoa(i), At: now},
		)
	}
	id := uuid.Must(uuid.NewV7()).String()
	appendAll(t, s, events.StreamTags+account, eventstore.NoStream, tags)
	appendAll(t, s, events.StreamHash+"one", eventstore.NoStream,
		[]events.Event{events.HashClaimed{Hash: "one", URLID: id, Account: account, At: now}},
	)
	appendAll(t, s, events.LinkStream(id), eventstore.NoStream, []events.Event{events.URLCreated{
		URLID: id, Account: account, Hash: "one", LongURL: "https://example.com/", Tags: ids[:onLink], At: now,
	}})
	var renames []events.Event
	for i, id := range ids {
		renames = append(renames, events.TagRenamed{TagID: id, Label: "renamed " + strconv.Itoa(i), At: now})
	}
	appendAll(t, s, events.StreamTags+account, eventstore.Revision(inAccount-1), renames)
}

// TestHistoryEndsWhenItsClientLeaves checks that the service stops reading a history when its
// client disconnects.
func TestHistoryEndsWhenItsClientLeaves(t *testing.T) {
	t.Parallel()
	ended := make(chan time.Time, 2)
	s := httpapitest.New(t, func(cfg *httpapi.Config) {
		observe := cfg.Observe
		cfg.Observe = func(method, route string, status int, took time.Duration) {
			if observe != nil {
				observe(method, route, status, took)
			}
			if route == "/v3/urls/:hash/history" {
				ended <- time.Now()
			}
		}
	})
	c := s.Client(t, "alice")
	overtagged(t, s, c.ID, 1_000, 4_000)
	s.CatchUp(t)
	var begun atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun.Store(true)
		s.Server.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	// The client stays long enough for its call to begin: on a busy machine, longer.
	for stays := 100 * time.Millisecond; !begun.Load(); stays *= 2 {
		ctx, leave := context.WithTimeout(httpapitest.WithTimeout(t), stays)
		defer leave()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/v3/urls/one/history?limit=1", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.SetBasicAuth(c.Username, c.Key)
		if response, err := server.Client().Do(request); err == nil {
			_ = response.Body.Close()
		}
	}
	left := time.Now()
	const late = 8 * time.Second // on a busy machine; reading all tags of all events took three times as long
	select {
	case at := <-ended:
		if after := at.Sub(left); after > late {
			t.Errorf("the call continued for %s after its client had left", after)
		}
	case <-time.After(httpapitest.Timeout):
		t.Fatal("the call did not end")
	}
	a := c.Must("GET", "/v3/urls/one/history?offset=2&limit=1", "")
	httpapitest.Equal(t, "events", a.Page.TotalCount, 1_002)
	httpapitest.Equal(t, "change", a.History.Events[0].Changes[0].Field, "tags")
}

func TestHistory(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "demo")
	c.Create(`"long_url":"https://example.com/1","custom_hash":"one"`)
	c.Must(
		http.MethodPatch, "/v3/urls/one", `{"urls":[{"custom_hash":"two","note":"moved"}]}`,
		httpapitest.Header(request.HeaderID, "edit-1"),
	)
	httpapitest.Send(t, s.Server, http.MethodGet, "/two", "", httpapitest.From("192.0.2.1:1", "Firefox"))

	a := c.Must(http.MethodGet, "/v3/urls/one/history", "")
	if len(a.History.Links) != 1 || len(a.History.Links[0].Hashes) != 2 || a.History.Links[0].Account != c.ID {
		t.Fatalf("links: %s", a.Body)
	}
	httpapitest.Equal(t, "clicks of the day", a.History.Links[0].DailyClicks["2026-05-14"], contract.Day{Total: 1, Unique: 1})
	types := []string{
		"hash.claimed.v1", "url.created.v1", "url.renamed.v1", "url.settings_changed.v1", "hash.released.v1",
	}
	httpapitest.Equal(t, "events", len(a.History.Events), len(types))
	for i, e := range a.History.Events {
		httpapitest.Equal(t, "type", e.Type, types[i])
		httpapitest.Equal(t, "account", e.Actor.Account, c.ID)
		if e.Actor.Kind != string(audit.ByAccount) || e.Actor.Key == "" || e.Batch == "" || e.Link != a.History.Links[0].ID {
			t.Errorf("event %d: %+v", i, e)
		}
	}
	edit := a.History.Events[3]
	httpapitest.Equal(t, "request", edit.Request, "edit-1")
	change := edit.Changes[0]
	httpapitest.Equal(t, "change", change.Field+string(change.Before)+string(change.After), `note"""moved"`)

	a = c.Must(http.MethodGet, "/v3/urls/one/history?offset=1&limit=2", "")
	httpapitest.Equal(t, "page", *a.Page, contract.Page{ResultsCount: 2, TotalCount: 5, Offset: 1})
	httpapitest.Equal(t, "first of the page", a.History.Events[0].Type, "url.created.v1")
	for order, first := range map[string]string{"created": "url.settings_changed.v1", "-created": "url.created.v1"} {
		a = c.Must(http.MethodGet, "/v3/urls/one/history?offset=1&limit=2&order_by="+order, "")
		httpapitest.Equal(t, "page in the order "+order, *a.Page, contract.Page{ResultsCount: 2, TotalCount: 5, Offset: 1})
		httpapitest.Equal(t, "first of the page in the order "+order, a.History.Events[0].Type, first)
	}
	c.Call(http.MethodGet, "/v3/urls/one/history?order_by=hash", "").Is(http.StatusBadRequest, apierror.CodeWrongInput)
	a = c.Must(http.MethodGet, "/v3/urls/one/history?offset=99999999999999999999", "")
	httpapitest.Equal(t, "results behind the end", a.Page.ResultsCount, 0)

	c.Must(http.MethodDelete, "/v3/urls/two", "")
	a = c.Must(http.MethodGet, "/v3/urls/two/history", "")
	httpapitest.Equal(t, "last event", a.History.Events[len(a.History.Events)-1].Type, "hash.released.v1")
}

// TestHashesThatLookLikeTheService checks that no link gets such a hash, and that a link of an older version keeps it:
// the link redirects, and its owner edits, renames, deletes and restores it.
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
