package httpapi_test

import (
	"context"
	"maps"
	"strings"
	"sync"
	"testing"

	"linkledger/httpapi"
	"linkledger/httpapi/httpapitest"
	"linkledger/projections"
)

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

// TestChangesByVisits checks that a change of all visited links includes those that were visited
// just before.
func TestChangesByVisits(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	c.Create(`"long_url":"https://example.com/","custom_hash":"one"`)
	s.Visit(t, "GET", "/one")
	c.Must("PATCH", "/v3/urls?tags=visited", `{"urls":[{"note":"seen"}]}`)
	httpapitest.Equal(t, "note", c.Read("one").Note, "seen")
}

// TestLogLinesAreBounded checks that only a little of a long request is logged or returned.
func TestLogLinesAreBounded(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t, func(cfg *httpapi.Config) { cfg.LogRequests = httpapi.LogAll })
	c := s.Client(t, "alice")
	long := strings.Repeat("X", 20_000)
	for name, changes := range map[string][]httpapitest.With{
		"override":     {httpapitest.Header("X-HTTP-Method-Override", long)},
		"request id":   {httpapitest.Header("X-Request-Id", long)},
		"traceparent":  {httpapitest.Header("Traceparent", "00-"+long), httpapitest.Header("Tracestate", "a="+long)},
		"user agent":   {httpapitest.Header("User-Agent", long), httpapitest.Header("Referer", "https://"+long)},
		"content type": {httpapitest.Header("Content-Type", "application/"+long)},
		"key":          {httpapitest.Header("Idempotency-Key", long)},
		"accept":       {httpapitest.Header("Accept", long)},
		"forwarded":    {httpapitest.Header("X-Forwarded-For", long)},
		"user name":    {httpapitest.Header("Authorization", "Basic "+long)},
	} {
		for _, path := range []string{"/v3/urls", "/v3/" + long, "/v3/urls?order_by=" + long, "/one"} {
			for _, method := range []string{"GET", "POST", long} {
				a := c.Call(method, path, `{"urls":[{"hash":"`+long+`"}],"label":"`+long+`"}`, changes...)
				if len(a.Error.Details) > 4*httpapitest.DetailsLength {
					t.Errorf(
						"%s: %.5s %.20s is answered with %d bytes of details", name, method, path, len(a.Error.Details),
					)
				}
			}
		}
	}
	for _, line := range s.Log.Longer(1000) {
		t.Errorf("a line of %d bytes: %.300s", len(line), line)
	}
}
