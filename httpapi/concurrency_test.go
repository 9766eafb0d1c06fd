package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"linkledger/httpapi/apierror"
)

// together makes n calls at once.
func together(n int, call func(i int)) {
	var calls sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		calls.Go(func() {
			<-start
			call(i)
		})
	}
	close(start)
	calls.Wait()
}

func TestOneWinnerOfAHash(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	alice, bob := s.client(t, "alice"), s.client(t, "bob")
	const callers = 32
	answers := make([]*answer, callers)
	together(callers, func(i int) {
		c := alice
		if i%2 == 1 {
			c = bob
		}
		answers[i] = c.call(
			"POST", "/v3/urls",
			fmt.Sprintf(`{"urls":[{"long_url":"https://example.com/%d","custom_hash":"prize"}]}`, i),
		)
	})
	winner := -1
	for i, a := range answers {
		a.is(http.StatusOK, apierror.CodeOK)
		if a.URLs[0].code() == apierror.CodeOK {
			if winner >= 0 {
				t.Errorf("%d and %d both won", winner, i)
			}
			winner = i
			continue
		}
		a.URLs[0].failed(t, apierror.CodeHashUnavailable, "in use")
	}
	if winner < 0 {
		t.Fatal("no call won")
	}
	equal(
		t, "Location", s.visit(t, "GET", "/prize").header.Get("Location"),
		fmt.Sprintf("https://example.com/%d", winner),
	)
	equal(
		t, "URLs of both",
		alice.must("GET", "/v3/urls", "").Page.TotalCount+bob.must("GET", "/v3/urls", "").Page.TotalCount, 1,
	)
}

func TestEveryVisitCounts(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(t, "alice")
	c.create(`"long_url":"https://example.com/","custom_hash":"one"`)
	const visits = 64
	together(visits, func(i int) {
		if a := s.visit(
			t, "GET", "/one", from(fmt.Sprintf("192.0.2.%d:1", i%8), firefox),
		); a.status != http.StatusFound {
			t.Errorf("response to visit %d: %d", i, a.status)
		}
	})
	s.caughtUp(t)
	stats := c.must("GET", "/v3/stats/one", "").Stats[0]
	equal(t, "total", stats.TotalClicks, visits)
	equal(t, "unique", stats.UniqueClicks, 8)
}

func TestRepeatedWrites(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c, other := s.client(t, "alice"), s.client(t, "bob")
	key := header("Idempotency-Key", "key-1")
	body := `{"urls":[{"long_url":"https://example.com/1"},{"long_url":"https://example.com/2","custom_hash":"two","tags":["t"]},{"note":"x"}]}`
	first := c.call("POST", "/v3/urls", body, key)
	generated := first.URLs[0].Hash
	s.visit(t, "GET", "/two")
	s.caughtUp(t)
	again := c.call("POST", "/v3/urls/", body, key)
	equal(t, "generated hash", again.URLs[0].Hash, generated)
	equal(t, "custom hash", again.URLs[1].Hash, "two")
	equal(t, "tags", strings.Join(again.URLs[1].Tags, ","), "t")
	equal(t, "clicks", again.URLs[1].TotalClicks, 1)
	again.URLs[2].failed(t, apierror.CodeMissingInput, "long_url")
	equal(t, "position", again.header.Get("X-Event-Position"), first.header.Get("X-Event-Position"))
	equal(t, "URLs", c.must("GET", "/v3/urls", "").Page.TotalCount, 2)

	fresh := other.call("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/1"}]}`, key).URLs[0]
	if fresh.Hash == generated {
		t.Error("another account's key is treated as the same command")
	}
	if next := c.call("POST", "/v3/urls", body, header("Idempotency-Key", "key-2")); next.URLs[0].Hash == generated {
		t.Error("another key is treated as the same command")
	}

	rename := `{"urls":[{"custom_hash":"three"}]}`
	for range 2 {
		equal(
			t, "renamed", c.must("PATCH", "/v3/urls/two", rename, header("Idempotency-Key", "key-rename")).URLs[0].Hash,
			"three",
		)
	}
	for range 2 {
		c.must("DELETE", "/v3/urls/three", "", header("Idempotency-Key", "key-delete"))
	}
	c.call("DELETE", "/v3/urls/three", "", header("Idempotency-Key", "key-3")).is(
		http.StatusNotFound, apierror.CodeURLNotFound,
	)
	for range 2 {
		c.must("DELETE", "/v3/tags/t", "", header("Idempotency-Key", "key-tag"))
	}
	c.call("DELETE", "/v3/tags/t", "").is(http.StatusNotFound, apierror.CodeTagNotFound)

	var hashes sync.Map
	together(8, func(int) {
		a := c.call(
			"POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/"}]}`, header("Idempotency-Key", "racing"),
		)
		hashes.Store(a.URLs[0].Hash, true)
	})
	n := 0
	hashes.Range(func(any, any) bool { n++; return true })
	equal(t, "different links", n, 1)

	for _, wrong := range []string{"a b", "ü", strings.Repeat("k", 256)} {
		c.call("POST", "/v3/tags", `{"label":"x"}`, header("Idempotency-Key", wrong)).is(
			http.StatusBadRequest, apierror.CodeWrongInput,
		)
	}
	c.must("POST", "/v3/tags", `{"label":"x"}`, header("Idempotency-Key", strings.Repeat("k", 255)))
}

func TestWriteWaitsForItsReaders(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var waited []string
	s := newStack(t, func(cfg *Config) {
		wait := cfg.Projections.Wait
		cfg.Projections.Wait = func(ctx context.Context, projection string, position uint64) error {
			mu.Lock()
			defer mu.Unlock()
			waited = append(waited, projection)
			return wait(ctx, projection, position)
		}
	})
	c := s.client(t, "alice")
	for _, step := range []struct{ method, path, body, want string }{
		{"POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"one"}]}`, "links"},
		{"POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/","tags":["t"]}]}`, "links tags"},
		{"POST", "/v3/urls", `{"urls":[{"long_url":"x"}]}`, ""},
		{"POST", "/v3/tags", `{"label":"u"}`, "tags"},
		{"PATCH", "/v3/tags/u", `{"label":"v"}`, "tags"},
		{"DELETE", "/v3/tags/v", "", "tags"},
		{"DELETE", "/v3/urls/one", "", "links"},
		{"GET", "/v3/urls", "", ""},
	} {
		mu.Lock()
		waited = nil
		mu.Unlock()
		a := c.call(step.method, step.path, step.body)
		mu.Lock()
		equal(t, step.method+" "+step.path+" "+step.body, strings.Join(waited, " "), step.want)
		mu.Unlock()
		equal(t, "has a position", a.header.Get("X-Event-Position") != "", step.want != "")
	}
}

func TestSlowReadModelsDelayNoWriteForEver(t *testing.T) {
	t.Parallel()
	s := newStack(t, func(cfg *Config) {
		cfg.WaitTimeout = time.Millisecond
		cfg.Projections.Wait = func(ctx context.Context, _ string, _ uint64) error {
			<-ctx.Done()
			return ctx.Err()
		}
	})
	c := s.client(t, "alice")
	a := c.must(
		"POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"one"}]}`,
		header("X-Request-Id", "slow"),
	)
	equal(t, "hash", a.URLs[0].Hash, "one")
	if a.header.Get("X-Event-Position") == "" {
		t.Error("the response has no position")
	}
	if len(s.log.matching("level=WARN", "request=slow", "projection=links")) != 1 {
		t.Error("the log does not warn that the read models are behind")
	}
	edited := c.must("PATCH", "/v3/urls/one", `{"urls":[{"note":"new"}]}`).URLs[0]
	equal(t, "note", edited.Note, "new")
}

func TestWritesOutliveTheirClient(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(t, "alice")
	ctx, leave := context.WithCancelCause(t.Context())
	leave(errors.New("the client hung up"))
	left := func(r *http.Request) { *r = *r.WithContext(ctx) }
	c.must("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"one"}]}`, left)
	c.read("one")
	// What only reads stops, also if a client says so in a header.
	for _, read := range [][4]string{
		{"GET", "/v3/urls/one", ""}, {"POST", "/v3/urls/one", "", "GET"}, {"POST", "/v3/urls/one", "", " head "},
	} {
		a := c.call(read[0], read[1], read[2], left, header("X-HTTP-Method-Override", read[3]))
		equal(t, strings.Join(read[:], " "), a.status, apierror.StatusClientLeft)
	}
	// What changes something goes on.
	c.must("POST", "/v3/urls/one", `{"urls":[{"note":"x"}]}`, left, header("X-HTTP-Method-Override", "PATCH"))
	if found := s.log.matching("level=ERROR"); len(found) > 0 {
		t.Errorf("the log has an error because of a client that left: %s", found)
	}
}
