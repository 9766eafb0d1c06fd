package httpapi_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"linkledger/commands/clicks"
	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/httpapi"
	"linkledger/httpapi/httpapitest"
)

func TestWhoIsNotCounted(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	c.Create(`"long_url":"https://example.com/","custom_hash":"one","max_clicks":1`)
	for _, who := range []httpapitest.With{
		httpapitest.Header("User-Agent", "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)"),
		httpapitest.Header("Sec-Purpose", "prefetch;anonymous-client-ip"), httpapitest.Header("Purpose", "Prefetch"),
		httpapitest.Header("X-Moz", "prefetch"),
		httpapitest.Header("X-Purpose", "preview"),
		httpapitest.Header("User-Agent", ""), httpapitest.Header("User-Agent", "-"), httpapitest.Header("User-Agent", "curl/8.5.0"),
		func(r *http.Request) { r.Header.Del("User-Agent") },
		httpapitest.Header("User-Agent", "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_11_1) AppleWebKit/601.2.4 (KHTML, like Gecko) "+
			"Version/9.0.1 Safari/601.2.4 facebookexternalhit/1.1 Facebot Twitterbot/1.0"), // iMessage
		httpapitest.Header("User-Agent", "Bluesky Cardyb"), httpapitest.Header("User-Agent", "meta-externalfetcher/1.1"),
		httpapitest.Header("User-Agent", "Microsoft Office Existence Discovery"),
	} {
		httpapitest.Equal(t, "status", s.Visit(t, "GET", "/one", who).Status, http.StatusFound)
	}
	s.CatchUp(t)
	before := c.Read("one")
	httpapitest.Equal(t, "clicks of bots", before.TotalClicks, 0)
	httpapitest.Equal(t, "visited by bots", before.Visited, false)
	httpapitest.Equal(t, "status of a visitor", s.Visit(t, "GET", "/one", httpapitest.Header("User-Agent", httpapitest.IPhone)).Status, http.StatusFound)
	httpapitest.Equal(t, "status of the next", s.Visit(t, "GET", "/one", httpapitest.Header("User-Agent", httpapitest.IPhone)).Status, http.StatusGone)
	httpapitest.Equal(t, "status of HEAD", s.Visit(t, "HEAD", "/one").Status, http.StatusGone)
	s.CatchUp(t)
	httpapitest.Equal(t, "clicks", c.Read("one").TotalClicks, 1)
}

// TestFieldsOfAClick checks which fields a click records of its visitor, and that the log has
// nothing else about them.
func TestFieldsOfAClick(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t, func(cfg *httpapi.Config) {
		cfg.Country = func(address netip.Addr) string {
			return map[string]string{"192.0.2.7": "DE"}[address.String()]
		}
	})
	s.Client(t, "alice").Create(`"long_url":"https://example.com/","custom_hash":"one"`)
	s.Visit(
		t, "GET", "/one", httpapitest.From("192.0.2.7:4711", httpapitest.IPhone),
		httpapitest.Header("Referer", "https://user:secret@News.xn--bcher-kva.example:8443/page?secret"),
	)
	s.Visit(t, "GET", "/one", httpapitest.From("unix", httpapitest.Lynx))
	recorded := clicksOf(t, s)
	httpapitest.Equal(t, "clicks", len(recorded), 2)
	known := recorded[0]
	httpapitest.Equal(t, "length of the visitor", len(known.Visitor), 32)
	known.URLID, known.Visitor = "", ""
	httpapitest.Equal(t, "click", known, clicks.Click{
		At: known.At, Referrer: "news.xn--bcher-kva.example", Browser: "Safari", OS: "iOS", Device: "mobile",
		Country: "DE",
	})
	httpapitest.Equal(
		t, "click without known details", recorded[1],
		clicks.Click{URLID: recorded[1].URLID, Visitor: recorded[1].Visitor, At: recorded[1].At, Program: "Lynx"},
	)
}

// clicksOf returns the clicks in the log, and checks that the log has nothing that identifies a
// visitor.
func clicksOf(t *testing.T, s *httpapitest.Stack) (all []clicks.Click) {
	t.Helper()
	head, err := s.Store.Head(httpapitest.WithTimeout(t))
	if err == nil {
		err = s.Store.ReadLog(httpapitest.WithTimeout(t), eventstore.Position{}, head, func(recorded []eventstore.Recorded) error {
			for _, r := range recorded {
				event, err := r.Event()
				if err != nil {
					return err
				}
				if recorded, ok := event.(events.ClicksRecorded); ok {
					all = append(all, recorded.Clicks...)
				}
				for _, secret := range []string{"192.0.2.7", "secret", "Mozilla", "8443", "Lynx/"} {
					if strings.Contains(string(r.Data)+string(r.Metadata), secret) {
						t.Errorf("%q is in the log: %s %s", secret, r.Data, r.Metadata)
					}
				}
			}
			return nil
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestRotatedVisitorKey checks that no visitor is counted twice when the visitor key is rotated
// during a day, on one node after the other. A visitor who comes while both keys are set keeps
// their identity. One who came only before that is new.
func TestRotatedVisitorKey(t *testing.T) {
	t.Parallel()
	var cfg httpapi.Config
	s := httpapitest.New(t, func(c *httpapi.Config) { cfg = *c })
	c := s.Client(t, "alice")
	c.Create(`"long_url":"https://example.com/","custom_hash":"one"`)
	node := func(key, former string) http.Handler {
		cfg := cfg
		cfg.VisitorKey = []byte(strings.Repeat(key, 32))
		if former != "" {
			cfg.FormerVisitorKey = []byte(strings.Repeat(former, 32))
		}
		handler, err := httpapi.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		return handler
	}
	before, during, after := node("a", ""), node("b", "a"), node("b", "")
	for _, visit := range []struct {
		node    http.Handler
		visitor string
		unique  int64 // expected after this visit
	}{
		{before, "early", 1},
		{before, "steady", 2},
		{during, "steady", 2}, // the first node uses the new key
		{before, "steady", 2}, // the second node still uses the old key
		{during, "new", 3},
		{before, "new", 3},
		{during, "new", 3},
		{after, "steady", 3}, // the first node no longer has the former key
		{after, "late", 4},
		{during, "late", 4}, // the second node still has it
		{after, "late", 4},
		{after, "new", 4},
		{after, "early", 5}, // has not come while both keys were set
		{after, "early", 5},
	} {
		a := httpapitest.Send(t, visit.node, http.MethodGet, "/one", "", httpapitest.Header("User-Agent", httpapitest.Lynx+" "+visit.visitor))
		httpapitest.Equal(t, "status", a.Status, http.StatusFound)
		stats := c.Must("GET", "/v3/stats/one", "").Stats[0]
		httpapitest.Equal(t, "unique clicks after "+visit.visitor, stats.UniqueClicks, visit.unique)
	}
}
