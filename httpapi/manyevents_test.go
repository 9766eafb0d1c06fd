package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/response"
)

// TestReadsAskForManyAsForFew counts the queries of every route that reads, with few and with many things to show.
// Their number does not grow.
func TestReadsAskForManyAsForFew(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	c := s.Client(t, "acme")
	c.Create(`"long_url":"https://example.com/1","custom_hash":"one","tags":["news"],"note":"x"`)
	viewer := s.ViewerOf(t, c)
	c.Must("PUT", "/v3/members", `{"id":"`+viewer.User.String()+`","role":"owner"}`)
	batch := c.Must("PATCH", "/v3/urls?tags=news", `{"urls":[{"archived":true}]}`).Header.Get(response.HeaderBatchID)
	paths := strings.NewReplacer(":hash", "one", ":label", "news", ":id", batch, ":batch", batch, ":secret", "none")
	count := func() map[string]int64 {
		s.CatchUp(t)
		b := s.Browser(t)
		b.SignInBy(c)
		counts := make(map[string]int64)
		for _, route := range s.Server.CallsAndPages() {
			if route.Method != http.MethodGet {
				continue
			}
			const most = 1 << 20
			for range 2 { // the first time fills caches
				var f httpapitest.Failure
				f.Left.Store(most)
				b.Call("GET", paths.Replace(route.Path), "", f.In)
				counts[route.Path] = most - f.Left.Load()
			}
		}
		return counts
	}
	few := count()
	for i := range 30 {
		c.Create(fmt.Sprintf(`"long_url":"https://example.com/%d","tags":["news","t%d"],"note":"n%d"`, i, i, i))
		c.Must("PATCH", "/v3/urls/one", fmt.Sprintf(`{"urls":[{"note":"m%d"}]}`, i))
		added := c.WithKey(fmt.Sprintf(`"name":"k%d"`, i))
		added.Must("PATCH", "/v3/urls/one", fmt.Sprintf(`{"urls":[{"max_clicks":%d}]}`, 100+i))
		s.Browser(t).SignInBy(added)
		hash := c.Create(`"long_url":"https://example.com/"`).Hash
		c.Must("DELETE", "/v3/urls/"+hash, "")
		s.Visit(t, "GET", "/one", httpapitest.From(fmt.Sprintf("192.0.2.%d:1", i), httpapitest.Lynx))
	}
	for path, many := range count() {
		if many > few[path]+5 { // clicks add a few, thirty things would add more
			t.Errorf("%s makes %d queries in place of %d when there is more to show", path, many, few[path])
		}
	}
}
