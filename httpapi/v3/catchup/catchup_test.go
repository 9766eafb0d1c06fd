package catchup_test

import (
	"context"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"linkledger/httpapi"
	"linkledger/httpapi/httpapitest"
	"linkledger/projections"
)

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

// TestReadsSayThatTheyAreBehind pauses a projection. It checks that answers say how old the changes are that they lack,
// and that a single record lacks none.
func TestReadsSayThatTheyAreBehind(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t, httpapitest.Impatient)
	c := s.Client(t, "alice")
	link := c.Create(`"long_url":"https://example.com/","tags":["old"]`)
	s.AwaitLevel(t, projections.Names()...)
	s.Pause(t, projections.Links)
	c.Must("PATCH", "/v3/urls/"+link.Hash, `{"urls":[{"note":"changed","tags":["new","-old"]}]}`)
	deadline := time.Now().Add(httpapitest.Timeout)
	for s.Level.Behind(projections.Links) == 0 && time.Now().Before(deadline) {
		if err := s.Level.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-time.After(50 * time.Millisecond)
	}
	list := c.Must("GET", "/v3/urls", "")
	if behind, err := strconv.Atoi(list.Header.Get("X-Seconds-Behind")); err != nil || behind < 3 {
		t.Errorf("the list is %d seconds behind, %v", behind, err)
	}
	httpapitest.Equal(t, "note in the list", list.URLs[0].Note, "")
	read := c.Must("GET", "/v3/urls/"+link.Hash, "").URLs[0]
	httpapitest.Equal(t, "record", read.Note+" "+strings.Join(read.Tags, " "), "changed new")
	s.Resume(t, projections.Links)
}

// TestReadsSeeTheClicksBeforeThem checks that a read immediately after a visit shows its click.
func TestReadsSeeTheClicksBeforeThem(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "demo")
	c.Create(`"long_url":"https://example.com/","custom_hash":"one"`)
	for n := int64(1); n <= 20; n++ {
		s.Visit(t, http.MethodGet, "/one")
		if clicks := c.Must(http.MethodGet, "/v3/stats/one", "").Stats[0].TotalClicks; clicks != n {
			t.Fatalf("%d clicks after %d visits", clicks, n)
		}
		if clicks := c.Read("one").TotalClicks; clicks != n {
			t.Fatalf("the record has %d clicks after %d visits", clicks, n)
		}
	}
}

// TestCallsThatWaitForClicks checks that calls whose responses depend on clicks wait once for the
// clicks of the node. Other calls wait for nothing.
func TestCallsThatWaitForClicks(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	waited := make(map[string]int)
	s := httpapitest.New(t, func(cfg *httpapi.Config) {
		demand := cfg.Projections.WaitUndelayed
		cfg.Projections.WaitUndelayed = func(ctx context.Context, projection string, position uint64) error {
			mu.Lock()
			waited[projection]++
			mu.Unlock()
			return demand(ctx, projection, position)
		}
	})
	c := s.Client(t, "alice")
	c.Create(`"long_url":"https://example.com/","custom_hash":"one","tags":["t"]`)
	s.Visit(t, "GET", "/one")
	s.SetTime(t, "2026-05-15T12:00:00Z")
	links, dimensions, none := map[string]int{
		projections.Links: 1,
	}, map[string]int{projections.Dimensions: 1}, map[string]int{}
	for _, tc := range []struct {
		method, path, body string
		want               map[string]int
	}{
		{"GET", "/v3/account", "", none},
		{"GET", "/v3/account?at=2026-05-15", "", none},
		{"GET", "/v3/tags", "", none},
		{"GET", "/v3/nothing", "", none},
		{"GET", "/v3/openapi.json", "", none},
		{"GET", "/v3/urls?limit=x", "", none},
		{"GET", "/v3/urls/one?at=2026-05-14", "", none},
		{"GET", "/v3/urls?at=2026-05-15", "", none},
		{"GET", "/v3/urls/one?at=2026-05-15T11:00:00Z", "", links},
		{"GET", "/v3/urls", "", links},
		{"GET", "/v3/urls?order_by=clicks&tags=visited", "", links},
		{"GET", "/v3/urls/one", "", links},
		{"HEAD", "/v3/urls/one", "", links},
		{"GET", "/v3/urls/one/history", "", links}, // whose events include daily clicks
		{"GET", "/v3/urls/none/history", "", none},
		{"GET", "/v3/stats/one", "", links},
		{"GET", "/v3/urls/one/dimensions", "", dimensions},
		{"POST", "/v3/tags", `{"label":"u"}`, none},
		{"PATCH", "/v3/urls?tags=t", `{"urls":[{"note":"x"}]}`, none},
		{"PATCH", "/v3/urls?tags=t,visited", `{"urls":[{"note":"y"}]}`, links},
		{"PATCH", "/v3/urls/one", `{"urls":[{"note":"z"}]}`, none},
		// The edit changes nothing, so its response is no newer than the visit.
		{"PATCH", "/v3/urls/one", `{"urls":[{"note":"z"}]}`, links},
		{"DELETE", "/v3/stats?tags=~visited", "", links},
	} {
		mu.Lock()
		clear(waited)
		mu.Unlock()
		c.Call(tc.method, tc.path, tc.body)
		mu.Lock()
		if !maps.Equal(waited, tc.want) {
			t.Errorf("%s %s waits for %v, want %v", tc.method, tc.path, waited, tc.want)
		}
		mu.Unlock()
	}
}

// TestChangesByVisits checks that a change of all visited links includes links visited just before.
func TestChangesByVisits(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	c.Create(`"long_url":"https://example.com/","custom_hash":"one"`)
	s.Visit(t, "GET", "/one")
	c.Must("PATCH", "/v3/urls?tags=visited", `{"urls":[{"note":"seen"}]}`)
	httpapitest.Equal(t, "note", c.Read("one").Note, "seen")
}
