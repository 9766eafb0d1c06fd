package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"linkledger/httpapi"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/httpapitest"
)

func TestOneWinnerOfAHash(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	alice, bob := s.Client(t, "alice"), s.Client(t, "bob")
	const callers = 32
	answers := make([]*httpapitest.Answer, callers)
	httpapitest.Together(callers, func(i int) {
		c := alice
		if i%2 == 1 {
			c = bob
		}
		answers[i] = c.Call(
			"POST", "/v3/urls",
			fmt.Sprintf(`{"urls":[{"long_url":"https://example.com/%d","custom_hash":"prize"}]}`, i),
		)
	})
	winner := -1
	for i, a := range answers {
		a.Is(http.StatusOK, apierror.CodeOK)
		if a.URLs[0].Code() == apierror.CodeOK {
			if winner >= 0 {
				t.Errorf("%d and %d both won", winner, i)
			}
			winner = i
			continue
		}
		a.URLs[0].Failed(t, apierror.CodeHashUnavailable, "in use")
	}
	if winner < 0 {
		t.Fatal("no call won")
	}
	httpapitest.Equal(
		t, "Location", s.Visit(t, "GET", "/prize").Header.Get("Location"),
		fmt.Sprintf("https://example.com/%d", winner),
	)
	httpapitest.Equal(
		t, "URLs of both",
		alice.Must("GET", "/v3/urls", "").Page.TotalCount+bob.Must("GET", "/v3/urls", "").Page.TotalCount, 1,
	)
}

func TestEveryVisitCounts(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	c.Create(`"long_url":"https://example.com/","custom_hash":"one"`)
	const visits = 64
	httpapitest.Together(visits, func(i int) {
		if a := s.Visit(
			t, "GET", "/one", httpapitest.From(fmt.Sprintf("192.0.2.%d:1", i%8), httpapitest.Firefox),
		); a.Status != http.StatusFound {
			t.Errorf("response to visit %d: %d", i, a.Status)
		}
	})
	s.CatchUp(t)
	stats := c.Must("GET", "/v3/stats/one", "").Stats[0]
	httpapitest.Equal(t, "total", stats.TotalClicks, visits)
	httpapitest.Equal(t, "unique", stats.UniqueClicks, 8)
}

func TestRepeatedWrites(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c, other := s.Client(t, "alice"), s.Client(t, "bob")
	key := httpapitest.Header("Idempotency-Key", "key-1")
	body := `{"urls":[{"long_url":"https://example.com/1"},{"long_url":"https://example.com/2","custom_hash":"two","tags":["t"]},{"note":"x"}]}`
	first := c.Call("POST", "/v3/urls", body, key)
	generated := first.URLs[0].Hash
	s.Visit(t, "GET", "/two")
	s.CatchUp(t)
	again := c.Call("POST", "/v3/urls/", body, key)
	httpapitest.Equal(t, "generated hash", again.URLs[0].Hash, generated)
	httpapitest.Equal(t, "custom hash", again.URLs[1].Hash, "two")
	httpapitest.Equal(t, "tags", strings.Join(again.URLs[1].Tags, ","), "t")
	httpapitest.Equal(t, "clicks", again.URLs[1].TotalClicks, 1)
	again.URLs[2].Failed(t, apierror.CodeMissingInput, "long_url")
	httpapitest.Equal(t, "position", again.Header.Get("X-Event-Position"), first.Header.Get("X-Event-Position"))
	httpapitest.Equal(t, "URLs", c.Must("GET", "/v3/urls", "").Page.TotalCount, 2)

	fresh := other.Call("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/1"}]}`, key).URLs[0]
	if fresh.Hash == generated {
		t.Error("another account's key is treated as the same command")
	}
	if next := c.Call("POST", "/v3/urls", body, httpapitest.Header("Idempotency-Key", "key-2")); next.URLs[0].Hash == generated {
		t.Error("another key is treated as the same command")
	}

	rename := `{"urls":[{"custom_hash":"three"}]}`
	for range 2 {
		httpapitest.Equal(
			t, "renamed", c.Must("PATCH", "/v3/urls/two", rename, httpapitest.Header("Idempotency-Key", "key-rename")).URLs[0].Hash,
			"three",
		)
	}
	for range 2 {
		c.Must("DELETE", "/v3/urls/three", "", httpapitest.Header("Idempotency-Key", "key-delete"))
	}
	c.Call("DELETE", "/v3/urls/three", "", httpapitest.Header("Idempotency-Key", "key-3")).Is(
		http.StatusNotFound, apierror.CodeURLNotFound,
	)
	for range 2 {
		c.Must("DELETE", "/v3/tags/t", "", httpapitest.Header("Idempotency-Key", "key-tag"))
	}
	c.Call("DELETE", "/v3/tags/t", "").Is(http.StatusNotFound, apierror.CodeTagNotFound)

	var hashes sync.Map
	httpapitest.Together(8, func(int) {
		a := c.Call(
			"POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/"}]}`, httpapitest.Header("Idempotency-Key", "racing"),
		)
		hashes.Store(a.URLs[0].Hash, true)
	})
	n := 0
	hashes.Range(func(any, any) bool { n++; return true })
	httpapitest.Equal(t, "different links", n, 1)

	for _, wrong := range []string{"a b", "ü", strings.Repeat("k", 256)} {
		c.Call("POST", "/v3/tags", `{"label":"x"}`, httpapitest.Header("Idempotency-Key", wrong)).Is(
			http.StatusBadRequest, apierror.CodeWrongInput,
		)
	}
	c.Must("POST", "/v3/tags", `{"label":"x"}`, httpapitest.Header("Idempotency-Key", strings.Repeat("k", 255)))
}

func TestWriteWaitsForItsReaders(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var waited []string
	s := httpapitest.New(t, func(cfg *httpapi.Config) {
		wait := cfg.Projections.Wait
		cfg.Projections.Wait = func(ctx context.Context, projection string, position uint64) error {
			mu.Lock()
			defer mu.Unlock()
			waited = append(waited, projection)
			return wait(ctx, projection, position)
		}
	})
	c := s.Client(t, "alice")
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
		a := c.Call(step.method, step.path, step.body)
		mu.Lock()
		httpapitest.Equal(t, step.method+" "+step.path+" "+step.body, strings.Join(waited, " "), step.want)
		mu.Unlock()
		httpapitest.Equal(t, "has a position", a.Header.Get("X-Event-Position") != "", step.want != "")
	}
}

func TestSlowReadModelsDelayNoWriteForEver(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t, func(cfg *httpapi.Config) {
		cfg.WaitTimeout = time.Millisecond
		cfg.Projections.Wait = func(ctx context.Context, _ string, _ uint64) error {
			<-ctx.Done()
			return ctx.Err()
		}
	})
	c := s.Client(t, "alice")
	a := c.Must(
		"POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"one"}]}`,
		httpapitest.Header("X-Request-Id", "slow"),
	)
	httpapitest.Equal(t, "hash", a.URLs[0].Hash, "one")
	if a.Header.Get("X-Event-Position") == "" {
		t.Error("the response has no position")
	}
	if len(s.Log.Matching("level=WARN", "request=slow", "projection=links")) != 1 {
		t.Error("the log does not warn that the read models are behind")
	}
	edited := c.Must("PATCH", "/v3/urls/one", `{"urls":[{"note":"new"}]}`).URLs[0]
	httpapitest.Equal(t, "note", edited.Note, "new")
}

func TestWritesOutliveTheirClient(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	ctx, leave := context.WithCancelCause(t.Context())
	leave(errors.New("the client hung up"))
	left := func(r *http.Request) { *r = *r.WithContext(ctx) }
	c.Must("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"one"}]}`, left)
	c.Read("one")
	// What only reads stops, also if a client says so in a header.
	for _, read := range [][4]string{
		{"GET", "/v3/urls/one", ""}, {"POST", "/v3/urls/one", "", "GET"}, {"POST", "/v3/urls/one", "", " head "},
	} {
		a := c.Call(read[0], read[1], read[2], left, httpapitest.Header("X-HTTP-Method-Override", read[3]))
		httpapitest.Equal(t, strings.Join(read[:], " "), a.Status, apierror.StatusClientLeft)
	}
	// What changes something goes on.
	c.Must("POST", "/v3/urls/one", `{"urls":[{"note":"x"}]}`, left, httpapitest.Header("X-HTTP-Method-Override", "PATCH"))
	if found := s.Log.Matching("level=ERROR"); len(found) > 0 {
		t.Errorf("the log has an error because of a client that left: %s", found)
	}
}
