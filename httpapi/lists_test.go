package httpapi

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"linkledger/httpapi/apierror"
)

func TestLists(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c, bob := s.client(t, "alice"), s.client(t, "bob")
	for i, fields := range []string{
		`"custom_hash":"a","note":"One","tags":["fruit","red"]`,
		`"custom_hash":"b","note":"two","tags":["fruit"],"email_stats":true`,
		`"custom_hash":"c","tags":["red tape"]`,
	} {
		s.at(t, fmt.Sprintf("2026-05-1%dT12:00:00Z", i))
		c.create(fields + `,"long_url":"https://example.com/` + strings.Repeat("x", i) + `?q=100%25"`)
	}
	s.at(t, noon)
	bob.create(`"custom_hash":"hers","long_url":"https://example.com/","tags":["fruit","private"]`)
	c.must("PATCH", "/v3/urls/a", `{"urls":[{"archived":true}]}`)
	for range 2 {
		s.visit(t, "GET", "/b")
	}
	s.caughtUp(t)
	for query, want := range map[string]string{
		"order_by=created":                "c,b,a",
		"order_by=-created":               "a,b,c",
		"order_by=modified":               "a,c,b",
		"order_by=clicks":                 "b,c,a",
		"order_by=-clicks":                "a,c,b",
		"order_by=hash":                   "a,b,c",
		"order_by=-hash&limit=1&offset=1": "b",
		"search=ONE":                      "a",
		"search=example.com":              "c,b,a",
		"search=100%2525":                 "c,b,a",
		"search=none":                     "",
		"search=%25":                      "c,b,a",
		"search=_":                        "",

		"tags=fruit":                     "b,a",
		"tags=+fruit":                    "b,a", // a plus in a query means a space
		"tags=%2Bfruit%26%2Bred":         "a",
		"tags=+fruit;+red":               "a",
		"tags=+fruit,+red":               "a",
		"tags=+fruit%26~red":             "b",
		"tags=FRUIT|%22red+tape%22":      "c,b,a",
		"tags=fruit^red":                 "b",
		"tags=archived":                  "a",
		"tags=visited;email_stats":       "b",
		"tags=(~fruit|+red);~visited":    "c,a",
		"tags=%3E2026-05-10;<2026-05-12": "b",
		"tags=>2026-05-11":               "c",
		"tags=~fruit&hashes=a,b,c":       "c",
		"tags=fruit&search=example&hashes=b,c,a&order_by=-hash&limit=1&offset=1": "a",
	} {
		a := c.must("GET", "/v3/urls?"+query, "")
		equal(t, query, a.hashes(), want)
		if !strings.Contains(query, "offset") {
			equal(t, query+" total", a.Page.TotalCount, int64(len(a.URLs)))
		}
		for _, u := range a.URLs {
			if u.Links.QRSmall == "" || u.Error != nil {
				t.Errorf("%s: %+v", query, u)
			}
		}
	}
	equal(
		t, "total",
		c.must("GET", "/v3/urls?tags=fruit&search=example&hashes=b,c,a&limit=1&offset=1", "").Page.TotalCount, 2,
	)
	c.call("GET", "/v3/urls?tags=private", "").is(http.StatusNotFound, apierror.CodeTagNotFound)
	equal(t, "the other's fruit", bob.must("GET", "/v3/urls?tags=fruit", "").hashes(), "hers")
}

// TestTaggedChangeIsRepeatable checks a change of more URLs than operationPortion that is
// interrupted halfway and repeated. It must end as if it had not been interrupted.
func TestTaggedChangeIsRepeatable(t *testing.T) {
	t.Parallel()
	s := newStack(t, func(cfg *Config) { cfg.OperationTimeout = testTimeout / 12 })
	c := s.client(t, "alice")
	const urls, perCall = 12 * operationPortion, 50
	items := strings.Repeat(`,{"long_url":"https://example.com/","tags":["t"]}`, perCall)
	for range urls / perCall {
		c.must("POST", "/v3/urls", `{"urls":[`+items[1:]+`]}`)
	}
	matching := func(query string) int64 { return c.must("GET", "/v3/urls?"+query, "").Page.TotalCount }

	cutOff := make(chan *answer)
	go func() {
		cutOff <- c.call("PATCH", "/v3/urls?tags=t,~archived", `{"urls":[{"archived":true,"note":"done"}]}`)
	}()
	for ctx := withTimeout(t); matching("tags=archived") == 0; {
		if ctx.Err() != nil {
			t.Fatal("the change never began")
		}
	}
	s.events.Stop()
	interrupted := func(a *answer) {
		t.Helper()
		if a.status != http.StatusTooManyRequests { // then it took longer than a call may
			a.is(http.StatusServiceUnavailable, apierror.CodeUnknown)
		}
	}
	if a := <-cutOff; a.status != http.StatusOK { // OK if the change was faster
		interrupted(a)
	}
	s.events.Start()
	for ctx := withTimeout(t); ; {
		a := c.call("PATCH", "/v3/urls?tags=t,~archived", `{"urls":[{"archived":true,"note":"done"}]}`)
		if a.status == http.StatusOK {
			break
		}
		interrupted(a)
		if ctx.Err() != nil {
			t.Fatal("the change did not succeed in time")
		}
	}
	s.caughtUp(t)
	equal(t, "done", matching("search=done&tags=archived"), urls)
	equal(t, "left out", matching("tags=~archived"), 0)
}
