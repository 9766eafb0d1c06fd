package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"linkledger/httpapi"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/httpapitest"
)

func TestLists(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c, bob := s.Client(t, "alice"), s.Client(t, "bob")
	for i, fields := range []string{
		`"custom_hash":"a","note":"One","tags":["fruit","red"]`,
		`"custom_hash":"b","note":"two","tags":["fruit"],"email_stats":true`,
		`"custom_hash":"c","tags":["red tape"]`,
	} {
		s.SetTime(t, fmt.Sprintf("2026-05-1%dT12:00:00Z", i))
		c.Create(fields + `,"long_url":"https://example.com/` + strings.Repeat("x", i) + `?q=100%25"`)
	}
	s.SetTime(t, httpapitest.Noon)
	bob.Create(`"custom_hash":"hers","long_url":"https://example.com/","tags":["fruit","private"]`)
	c.Must("PATCH", "/v3/urls/a", `{"urls":[{"archived":true}]}`)
	for range 2 {
		s.Visit(t, "GET", "/b")
	}
	s.CatchUp(t)
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
		a := c.Must("GET", "/v3/urls?"+query, "")
		httpapitest.Equal(t, query, a.Hashes(), want)
		if !strings.Contains(query, "offset") {
			httpapitest.Equal(t, query+" total", a.Page.TotalCount, int64(len(a.URLs)))
		}
		for _, u := range a.URLs {
			if u.Links.QRSmall == "" || u.Error != nil {
				t.Errorf("%s: %+v", query, u)
			}
		}
	}
	httpapitest.Equal(
		t, "total",
		c.Must("GET", "/v3/urls?tags=fruit&search=example&hashes=b,c,a&limit=1&offset=1", "").Page.TotalCount, 2,
	)
	c.Call("GET", "/v3/urls?tags=private", "").Is(http.StatusNotFound, apierror.CodeTagNotFound)
	httpapitest.Equal(t, "the other's fruit", bob.Must("GET", "/v3/urls?tags=fruit", "").Hashes(), "hers")
}

// TestTaggedChangeIsRepeatable checks a change of more URLs than operationPortion that is
// interrupted halfway and repeated. It must end as if it had not been interrupted.
func TestTaggedChangeIsRepeatable(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t, func(cfg *httpapi.Config) { cfg.OperationTimeout = httpapitest.Timeout / 12 })
	c := s.Client(t, "alice")
	const urls, perCall = 12 * httpapitest.OperationPortion, 50
	items := strings.Repeat(`,{"long_url":"https://example.com/","tags":["t"]}`, perCall)
	for range urls / perCall {
		c.Must("POST", "/v3/urls", `{"urls":[`+items[1:]+`]}`)
	}
	matching := func(query string) int64 { return c.Must("GET", "/v3/urls?"+query, "").Page.TotalCount }

	cutOff := make(chan *httpapitest.Answer)
	go func() {
		cutOff <- c.Call("PATCH", "/v3/urls?tags=t,~archived", `{"urls":[{"archived":true,"note":"done"}]}`)
	}()
	for ctx := httpapitest.WithTimeout(t); matching("tags=archived") == 0; {
		if ctx.Err() != nil {
			t.Fatal("the change never began")
		}
	}
	s.Events.Stop()
	interrupted := func(a *httpapitest.Answer) {
		t.Helper()
		if a.Status != http.StatusTooManyRequests { // then it took longer than a call may
			a.Is(http.StatusServiceUnavailable, apierror.CodeUnknown)
		}
	}
	if a := <-cutOff; a.Status != http.StatusOK { // OK if the change was faster
		interrupted(a)
	}
	s.Events.Start()
	for ctx := httpapitest.WithTimeout(t); ; {
		a := c.Call("PATCH", "/v3/urls?tags=t,~archived", `{"urls":[{"archived":true,"note":"done"}]}`)
		if a.Status == http.StatusOK {
			break
		}
		interrupted(a)
		if ctx.Err() != nil {
			t.Fatal("the change did not succeed in time")
		}
	}
	s.CatchUp(t)
	httpapitest.Equal(t, "done", matching("search=done&tags=archived"), urls)
	httpapitest.Equal(t, "left out", matching("tags=~archived"), 0)
}
