package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/commands/domain"
	"linkledger/internal/soak"
	"linkledger/projections"
	"linkledger/queries"
	"linkledger/queries/cache"
)

// impatient answers writes soon although the read models do not show them.
func impatient(cfg *Config) { cfg.WaitTimeout = 20 * time.Millisecond }

// pause stops projections until the test ends or resumes them.
func (s *stack) pause(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := projections.Pause(withTimeout(t), s.db, name); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *stack) resume(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := projections.Resume(withTimeout(t), s.db, name); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAnsweredIsNeverDenied changes links and their account while the projections are paused. It checks that visitors
// get what was answered, and that a link that is gone does not come back.
func TestAnsweredIsNeverDenied(t *testing.T) {
	t.Parallel()
	s := newStack(t, impatient)
	c := s.client(t, "alice")
	visits := func(hash string, want int) {
		t.Helper()
		if got := s.visit(t, "GET", "/"+hash).status; got != want {
			t.Errorf("%s is answered %d; want %d", hash, got, want)
		}
	}
	for _, hash := range []string{"old", "gone", "spent", "late"} {
		c.create(`"long_url":"https://example.com/","custom_hash":"` + hash + `"`)
	}
	c.must("PATCH", "/v3/urls/spent", `{"urls":[{"max_clicks":1}]}`)
	c.must("PATCH", "/v3/urls/late", `{"urls":[{"expiration_date":"2026-05-13"}]}`)
	c.must("DELETE", "/v3/urls/gone", "")
	s.caughtUp(t)
	visits("gone", http.StatusGone)
	visits("late", http.StatusGone)
	visits("spent", http.StatusFound)
	visits("spent", http.StatusGone)
	visits("new", http.StatusNotFound)

	s.pause(t, projections.Links, projections.Accounts)
	visits("new", http.StatusNotFound)
	c.create(`"long_url":"https://example.com/new","custom_hash":"new"`)
	visits("new", http.StatusFound)
	equal(t, "destination", s.visit(t, "HEAD", "/new").header.Get("Location"), "https://example.com/new")
	equal(t, "image", s.visit(t, "GET", "/new/qr.png").status, http.StatusOK)
	generated := c.create(`"long_url":"https://example.com/"`).Hash
	visits(generated, http.StatusFound)
	visits("never", http.StatusNotFound)

	c.must("POST", "/v3/urls/gone/restore", "")
	visits("gone", http.StatusFound)
	c.must("PATCH", "/v3/urls/late", `{"urls":[{"expiration_date":"2026-05-15"}]}`)
	visits("late", http.StatusFound)
	c.must("PATCH", "/v3/urls/spent", `{"urls":[{"max_clicks":2}]}`)
	visits("spent", http.StatusFound)
	visits("spent", http.StatusGone)

	c.must("PATCH", "/v3/urls/new", `{"urls":[{"custom_hash":"moved"}]}`)
	visits("moved", http.StatusFound)
	visits("new", http.StatusNotFound)
	c.create(`"long_url":"https://example.com/","custom_hash":"once","max_clicks":1`)
	visits("once", http.StatusFound)
	visits("once", http.StatusGone)
	c.create(`"long_url":"https://example.com/","custom_hash":"over","expiration_date":"2026-05-13"`)
	visits("over", http.StatusGone)
	c.must("DELETE", "/v3/urls/moved", "")
	visits("moved", http.StatusGone)

	if _, err := s.accounts.Deactivate(t.Context(), domain.Request{Command: uuid.New()}, "alice"); err != nil {
		t.Fatal(err)
	}
	visits(generated, http.StatusGone)
	visits("never", http.StatusNotFound)
	s.resume(t, projections.Links, projections.Accounts)
}

// TestAnsweredIsNeverDeniedByAnotherNode creates links on a node, while visitors ask another one for them all the
// time, and the projection is paused again and again. Once a link is answered, no visitor may be denied it.
func TestAnsweredIsNeverDeniedByAnotherNode(t *testing.T) {
	t.Parallel()
	var other Config
	s := newStack(t, impatient, func(cfg *Config) { other = *cfg })
	c := s.client(t, "alice")
	targets, err := cache.NewRedirects(queries.New(s.db), 16<<20)
	if err != nil {
		t.Fatal(err)
	}
	other.RedirectCache = targets // it learns of no change
	node, err := New(other)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(withTimeout(t))
	var work sync.WaitGroup
	defer work.Wait()
	defer stop()
	work.Go(func() {
		for ctx.Err() == nil {
			s.pause(t, projections.Links)
			<-time.After(30 * time.Millisecond)
			s.resume(t, projections.Links)
			<-time.After(30 * time.Millisecond)
		}
	})
	for i := range soak.N(60, 2000) {
		hash := "link-" + strconv.Itoa(i)
		asking, answered := context.WithCancel(ctx)
		var visitors sync.WaitGroup
		for range 4 {
			visitors.Go(func() {
				for asking.Err() == nil {
					send(t, node, "GET", "/"+hash, "")
				}
			})
		}
		c.create(`"long_url":"https://example.com/","custom_hash":"` + hash + `"`)
		for _, handler := range []http.Handler{node, s.handler, node} {
			if a := send(t, handler, "GET", "/"+hash, ""); a.status != http.StatusFound {
				t.Errorf("%s is answered %d: %s", hash, a.status, a.body)
			}
		}
		answered()
		visitors.Wait()
	}
}
