package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/google/uuid"

	"linkledger/commands/domain"
	"linkledger/internal/soak"
	"linkledger/projections/readmodel"
)

// TestRedirectsFollowEveryAnsweredChange checks that no redirect after a confirmed change shows an
// earlier state, even while many visitors load the link into memory.
func TestRedirectsFollowEveryAnsweredChange(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(t, "alice")
	c.create(`"long_url":"https://example.com/0","custom_hash":"one"`)
	ctx, stop := context.WithCancel(t.Context())
	var crowd sync.WaitGroup
	for range 2 {
		crowd.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				s.visit(t, "HEAD", []string{"/one", "/two"}[i%2])
			}
		})
	}
	leads := func(hash, to string) {
		t.Helper()
		a := s.visit(t, "HEAD", "/"+hash)
		equal(t, hash+" leads to", a.header.Get("Location"), to)
		equal(t, "status", a.status, map[bool]int{true: http.StatusNotFound, false: http.StatusFound}[to == ""])
	}
	hash, other := "one", "two"
	for i := range soak.N(8, 40) {
		long := fmt.Sprintf("https://example.com/%d", i)
		c.must("PATCH", "/v3/urls/"+hash, `{"urls":[{"long_url":"`+long+`"}]}`)
		leads(hash, long)
		c.must("PATCH", "/v3/urls/"+hash, `{"urls":[{"custom_hash":"`+other+`"}]}`)
		hash, other = other, hash
		leads(hash, long)
		leads(other, "")
	}
	c.must("DELETE", "/v3/urls/"+hash, "")
	equal(t, "status after the deletion", s.visit(t, "HEAD", "/"+hash).status, http.StatusGone)
	c.create(`"long_url":"https://example.com/again","custom_hash":"` + hash + `"`)
	leads(hash, "https://example.com/again")
	s.deactivate(t, "alice")
	equal(t, "status after the deactivation", s.visit(t, "HEAD", "/"+hash).status, http.StatusGone)
	stop()
	crowd.Wait()
}

// deactivate deactivates an account and waits for the read models.
func (s *stack) deactivate(t testing.TB, username string) {
	t.Helper()
	if _, err := s.accounts.Deactivate(withTimeout(t), domain.Request{Command: uuid.New()}, username); err != nil {
		t.Fatal(err)
	}
	s.caughtUp(t)
}

// TestRedirectsWithoutTheDatabase checks that links redirect while the database is unavailable: those in memory, and
// others from the log. Without the log too, links in memory redirect no more, because no click would be durable, and
// nobody is told that a link does not exist.
func TestRedirectsWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(t, "alice")
	c.create(`"long_url":"https://example.com/","custom_hash":"known"`)
	c.create(`"long_url":"https://example.com/","custom_hash":"unknown"`)
	s.awaitNotifications(t) // otherwise a late notification of the creation would remove the link from memory
	equal(t, "status before", s.visit(t, "GET", "/known").status, http.StatusFound)
	s.db.Pool.Close()
	for range 20 {
		equal(t, "status of a link in memory", s.visit(t, "GET", "/known").status, http.StatusFound)
	}
	equal(t, "status of a link that is not in memory", s.visit(t, "GET", "/unknown").status, http.StatusFound)
	equal(t, "status of a link that never was", s.visit(t, "GET", "/never").status, http.StatusNotFound)
	s.events.Stop()
	equal(t, "status without both stores", s.visit(t, "GET", "/unknown").status, http.StatusServiceUnavailable)
	equal(t, "status without both stores", s.visit(t, "GET", "/never").status, http.StatusServiceUnavailable)
}

// awaitNotifications waits until the notifications of all commits so far have been received.
// Notifications arrive in the order of the commits.
func (s *stack) awaitNotifications(t testing.TB) {
	t.Helper()
	if _, err := s.db.NewRaw("SELECT pg_notify(?, 'marker 1')", readmodel.Channel).Exec(withTimeout(t)); err != nil {
		t.Fatal(err)
	}
	if err := s.waiter.Wait(withTimeout(t), "marker", 1); err != nil {
		t.Fatal(err)
	}
}
