package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"linkledger/events/archive"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/response"
	"linkledger/internal/soak"
)

// fileBody returns the body of a call that checks a file.
func fileBody(t *testing.T, file string) string {
	t.Helper()
	body, err := json.Marshal(map[string]string{"file": file})
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// TestProofsOfManyEventsAskOnce proves a link of many events and checks an export of them. Neither makes more queries
// the more events there are.
func TestProofsOfManyEventsAskOnce(t *testing.T) {
	t.Parallel()
	events, most := soak.N(60, 499), 12
	s := newStack(t)
	c := s.client(t, "acme")
	c.create(`"long_url":"https://example.com/1","custom_hash":"one"`)
	for i := range events - 2 {
		c.must("PATCH", "/v3/urls/one", fmt.Sprintf(`{"urls":[{"max_clicks":%d}]}`, i+1))
	}
	file := s.exported(t, archive.NDJSON, c.id)
	measured := func(what string, call func()) {
		t.Helper()
		call() // waits for the tree
		s.queries.reset("")
		began := time.Now()
		call()
		took, queries := time.Since(began), len(s.queries.reset("tree_tiles"))
		t.Logf("%s of %d events: %d queries in %s", what, events, queries, took)
		if queries == 0 || queries > most {
			t.Errorf("%s of %d events makes %d queries of the tree; want 1 to %d", what, events, queries, most)
		}
	}
	measured("proof", func() {
		equal(t, "events proved", c.must("GET", "/v3/urls/one/proof?limit=500", "").Proof.Events, events)
	})
	measured("check of an export", func() {
		if check := c.check(file); !check.InLog || check.Export == nil || check.Export.Events < int64(events) {
			t.Errorf("the check says %+v %+v", check, check.Export)
		}
	})
}

// TestChecksOfAnAccountTakeTurns checks that the checks of an account run one at a time, that some wait, and that the
// calls of another account do not.
func TestChecksOfAnAccountTakeTurns(t *testing.T) {
	t.Parallel()
	const waiting = 4
	open, arrived := make(chan struct{}), make(chan struct{}, 2+waiting)
	var closed atomic.Bool
	s := newStack(t, func(cfg *Config) {
		wait := cfg.Projections.Wait
		cfg.Projections.Wait = func(ctx context.Context, projection string, position uint64) error {
			if projection == "tree" && closed.Load() {
				arrived <- struct{}{}
				<-open
			}
			return wait(ctx, projection, position)
		}
	})
	c, other := s.client(t, "acme"), s.client(t, "other")
	body := fileBody(t, s.exported(t, archive.NDJSON, c.id))
	closed.Store(true)
	answers := make(chan *answer, 2+waiting)
	var calls sync.WaitGroup
	for range 2 + waiting {
		calls.Go(func() { answers <- c.call("POST", "/v3/proofs", body) })
	}
	a := <-answers
	a.is(http.StatusTooManyRequests, apierror.CodeCallLimit)
	if a.header.Get("Retry-After") == "" {
		t.Errorf("too many checks: %v", a.header)
	}
	<-arrived
	if len(arrived) > 0 {
		t.Error("two checks of an account run at the same time")
	}
	c.must("GET", "/v3/urls", "") // other calls do not wait
	closed.Store(false)
	other.must("POST", "/v3/proofs", body)
	close(open)
	calls.Wait()
	for range 1 + waiting {
		(<-answers).is(http.StatusOK, apierror.CodeOK)
	}
}

// TestChecksEndWithTheirClient checks that a check, which reads only, ends when its client leaves, also as a page.
func TestChecksEndWithTheirClient(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	c := s.client(t, "acme")
	file := s.exported(t, archive.NDJSON, c.id)
	b := s.browser(t)
	b.signInBy(c)
	ctx, leave := context.WithCancel(t.Context())
	leave()
	left := func(r *http.Request) { *r = *r.WithContext(ctx) }
	equal(t, "check", c.call("POST", "/v3/proofs", fileBody(t, file), left).status, apierror.StatusClientLeft)
	page := b.call("POST", "/console/proofs", "text="+strings.ReplaceAll(file, "\n", "%0A"), left,
		header("Content-Type", "application/x-www-form-urlencoded"), header("Sec-Fetch-Site", "same-origin"))
	if shown := b.follow(page); !strings.Contains(shown.body, `role="alert"`) {
		t.Errorf("the check of a page goes on without its client\n%s", shown.body)
	}
}

// TestReadsAskForManyAsForFew counts the queries of every route that reads, with few and with many things to show.
// Their number does not grow.
func TestReadsAskForManyAsForFew(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	c := s.client(t, "acme")
	c.create(`"long_url":"https://example.com/1","custom_hash":"one","tags":["news"],"note":"x"`)
	viewer := s.viewerOf(t, c)
	c.must("PUT", "/v3/members", `{"id":"`+viewer.User.String()+`","role":"owner"}`)
	batch := c.must("PATCH", "/v3/urls?tags=news", `{"urls":[{"archived":true}]}`).header.Get(response.HeaderBatchID)
	paths := strings.NewReplacer(":hash", "one", ":label", "news", ":id", batch, ":batch", batch, ":secret", "none")
	server := s.handler.(*Server)
	count := func() map[string]int64 {
		s.caughtUp(t)
		b := s.browser(t)
		b.signInBy(c)
		counts := make(map[string]int64)
		for _, route := range slices.Concat(server.api.Routes(), server.console.Routes()) {
			if route.Method != http.MethodGet {
				continue
			}
			const most = 1 << 20
			for range 2 { // the first time fills caches
				var f failure
				f.left.Store(most)
				b.call("GET", paths.Replace(route.Path), "", f.in)
				counts[route.Path] = most - f.left.Load()
			}
		}
		return counts
	}
	few := count()
	for i := range 30 {
		c.create(fmt.Sprintf(`"long_url":"https://example.com/%d","tags":["news","t%d"],"note":"n%d"`, i, i, i))
		c.must("PATCH", "/v3/urls/one", fmt.Sprintf(`{"urls":[{"note":"m%d"}]}`, i))
		added := c.withKey(fmt.Sprintf(`"name":"k%d"`, i))
		added.must("PATCH", "/v3/urls/one", fmt.Sprintf(`{"urls":[{"max_clicks":%d}]}`, 100+i))
		s.browser(t).signInBy(added)
		hash := c.create(`"long_url":"https://example.com/"`).Hash
		c.must("DELETE", "/v3/urls/"+hash, "")
		s.visit(t, "GET", "/one", from(fmt.Sprintf("192.0.2.%d:1", i), lynx))
	}
	for path, many := range count() {
		if many > few[path]+5 { // clicks add a few, thirty things would add more
			t.Errorf("%s makes %d queries in place of %d when there is more to show", path, many, few[path])
		}
	}
}
