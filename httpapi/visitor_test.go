package httpapi

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"linkledger/commands/clicks"
	"linkledger/events"
	"linkledger/events/eventstore"
)

const (
	iPhone = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) " +
		"Version/17.0 Mobile/15E148 Safari/604.1"
	lynx    = "Lynx/2.9" // a person's, without known browser, system and device
	firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:120.0) Gecko/20100101 Firefox/120.0"
)

func TestWhoIsNotCounted(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(t, "alice")
	c.create(`"long_url":"https://example.com/","custom_hash":"one","max_clicks":1`)
	for _, who := range []with{
		header("User-Agent", "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)"),
		header("Sec-Purpose", "prefetch;anonymous-client-ip"), header("Purpose", "Prefetch"),
		header("X-Moz", "prefetch"),
		header("X-Purpose", "preview"),
		header("User-Agent", ""), header("User-Agent", "-"), header("User-Agent", "curl/8.5.0"),
		func(r *http.Request) { r.Header.Del("User-Agent") },
		header("User-Agent", "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_11_1) AppleWebKit/601.2.4 (KHTML, like Gecko) "+
			"Version/9.0.1 Safari/601.2.4 facebookexternalhit/1.1 Facebot Twitterbot/1.0"), // iMessage
		header("User-Agent", "Bluesky Cardyb"), header("User-Agent", "meta-externalfetcher/1.1"),
		header("User-Agent", "Microsoft Office Existence Discovery"),
	} {
		equal(t, "status", s.visit(t, "GET", "/one", who).status, http.StatusFound)
	}
	s.caughtUp(t)
	before := c.read("one")
	equal(t, "clicks of bots", before.TotalClicks, 0)
	equal(t, "visited by bots", before.Visited, false)
	equal(t, "status of a visitor", s.visit(t, "GET", "/one", header("User-Agent", iPhone)).status, http.StatusFound)
	equal(t, "status of the next", s.visit(t, "GET", "/one", header("User-Agent", iPhone)).status, http.StatusGone)
	equal(t, "status of HEAD", s.visit(t, "HEAD", "/one").status, http.StatusGone)
	s.caughtUp(t)
	equal(t, "clicks", c.read("one").TotalClicks, 1)
}

// TestFieldsOfAClick checks which fields a click records of its visitor, and that the log has
// nothing else about them.
func TestFieldsOfAClick(t *testing.T) {
	t.Parallel()
	s := newStack(t, func(cfg *Config) {
		cfg.Country = func(address netip.Addr) string {
			return map[string]string{"192.0.2.7": "DE"}[address.String()]
		}
	})
	s.client(t, "alice").create(`"long_url":"https://example.com/","custom_hash":"one"`)
	s.visit(
		t, "GET", "/one", from("192.0.2.7:4711", iPhone),
		header("Referer", "https://user:secret@News.xn--bcher-kva.example:8443/page?secret"),
	)
	s.visit(t, "GET", "/one", from("unix", lynx))
	recorded := s.clicks(t)
	equal(t, "clicks", len(recorded), 2)
	known := recorded[0]
	equal(t, "length of the visitor", len(known.Visitor), 32)
	known.URLID, known.Visitor = "", ""
	equal(t, "click", known, clicks.Click{
		At: known.At, Referrer: "news.xn--bcher-kva.example", Browser: "Safari", OS: "iOS", Device: "mobile",
		Country: "DE",
	})
	equal(
		t, "click without known details", recorded[1],
		clicks.Click{URLID: recorded[1].URLID, Visitor: recorded[1].Visitor, At: recorded[1].At, Program: "Lynx"},
	)
}

// clicks returns the clicks in the log, and checks that the log has nothing that identifies a
// visitor.
func (s *stack) clicks(t *testing.T) (all []clicks.Click) {
	t.Helper()
	head, err := s.store.Head(withTimeout(t))
	if err == nil {
		err = s.store.ReadLog(withTimeout(t), eventstore.Position{}, head, func(recorded []eventstore.Recorded) error {
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
	var cfg Config
	s := newStack(t, func(c *Config) { cfg = *c })
	c := s.client(t, "alice")
	c.create(`"long_url":"https://example.com/","custom_hash":"one"`)
	node := func(key, former string) http.Handler {
		cfg := cfg
		cfg.VisitorKey = []byte(strings.Repeat(key, 32))
		if former != "" {
			cfg.FormerVisitorKey = []byte(strings.Repeat(former, 32))
		}
		handler, err := New(cfg)
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
		a := send(t, visit.node, http.MethodGet, "/one", "", header("User-Agent", lynx+" "+visit.visitor))
		equal(t, "status", a.status, http.StatusFound)
		stats := c.must("GET", "/v3/stats/one", "").Stats[0]
		equal(t, "unique clicks after "+visit.visitor, stats.UniqueClicks, visit.unique)
	}
}
