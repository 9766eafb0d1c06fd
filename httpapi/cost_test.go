package httpapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/httpapi"
	"linkledger/httpapi/httpapitest"
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
	server := httptest.NewServer(s.Server)
	t.Cleanup(server.Close)
	// The client stays long enough for its call to begin.
	ctx, leave := context.WithTimeout(httpapitest.WithTimeout(t), 100*time.Millisecond)
	defer leave()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/v3/urls/one/history?limit=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth(c.Username, c.Key)
	if response, err := server.Client().Do(request); err == nil {
		_ = response.Body.Close()
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
