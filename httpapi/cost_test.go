package httpapi

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
)

// appendAll appends events to a stream after a revision, as many per append as an append may have.
func (s *stack) appendAll(t *testing.T, stream string, at eventstore.Revision, all []events.Event) {
	t.Helper()
	const operationPortion = 1000
	for len(all) > 0 {
		part := all[:min(operationPortion, len(all))]
		appended, err := s.store.Append(
			withTimeout(t), eventstore.Write{Stream: stream, Expected: at, Command: uuid.New(), Events: part},
		)
		if err != nil {
			t.Fatal(err)
		}
		at, all = appended.Revision, all[len(part):]
	}
}

// overtagged stores a link under the hash "one" with more tags than are allowed now, in an account
// with many renamed tags.
func (s *stack) overtagged(t *testing.T, account string, onLink, inAccount int) {
	t.Helper()
	now := *s.now.Load()
	ids := make([]string, inAccount)
	var tags []events.Event
	for i := range ids {
		ids[i] = uuid.NewString()
		tags = append(
			tags, events.TagCreated{TagID: ids[i], Account: account, Label: "tag " + strconv.Itoa(i), At: now},
		)
	}
	id := uuid.Must(uuid.NewV7()).String()
	s.appendAll(t, events.StreamTags+account, eventstore.NoStream, tags)
	s.appendAll(
		t, events.StreamHash+"one", eventstore.NoStream,
		[]events.Event{events.HashClaimed{Hash: "one", URLID: id, Account: account, At: now}},
	)
	s.appendAll(t, events.LinkStream(id), eventstore.NoStream, []events.Event{events.URLCreated{
		URLID: id, Account: account, Hash: "one", LongURL: "https://example.com/", Tags: ids[:onLink], At: now,
	}})
	var renames []events.Event
	for i, id := range ids {
		renames = append(renames, events.TagRenamed{TagID: id, Label: "renamed " + strconv.Itoa(i), At: now})
	}
	s.appendAll(t, events.StreamTags+account, eventstore.Revision(inAccount-1), renames)
}

// TestHistoryEndsWhenItsClientLeaves checks that the service stops reading a history when its
// client disconnects.
func TestHistoryEndsWhenItsClientLeaves(t *testing.T) {
	t.Parallel()
	ended := make(chan time.Time, 2)
	s := newStack(t, func(cfg *Config) {
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
	c := s.client(t, "alice")
	s.overtagged(t, c.id, 1_000, 4_000)
	s.caughtUp(t)
	server := httptest.NewServer(s.handler)
	t.Cleanup(server.Close)
	// The client stays long enough for its call to begin.
	ctx, leave := context.WithTimeout(withTimeout(t), 100*time.Millisecond)
	defer leave()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/v3/urls/one/history?limit=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth(c.username, c.key)
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
	case <-time.After(testTimeout):
		t.Fatal("the call did not end")
	}
	a := c.must("GET", "/v3/urls/one/history?offset=2&limit=1", "")
	equal(t, "events", a.Page.TotalCount, 1_002)
	equal(t, "change", a.History.Events[0].Changes[0].Field, "tags")
}
