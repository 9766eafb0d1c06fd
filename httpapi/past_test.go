package httpapi

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"linkledger/httpapi/apierror"
)

// syncClock sets the service's clock to the present and returns it. By then the event store has
// recorded every confirmed write.
func (s *stack) syncClock() string {
	now := time.Now()
	s.now.Store(&now)
	return now.Format(time.RFC3339Nano)
}

// at makes a call as of a time.
func (c *client) at(path, asOf string) *answer {
	c.t.Helper()
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	return c.call(http.MethodGet, path+separator+"at="+url.QueryEscape(asOf), "")
}

// isGone checks that a refusal says why there was no URL.
func (a *answer) isGone(why string) {
	a.t.Helper()
	a.is(http.StatusNotFound, apierror.CodeURLNotFound)
	a.has(why)
}

func (i item) to() string { return *i.LongURL }

func TestPast(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.syncClock()
	c, other := s.client(t, "demo"), s.client(t, "other")
	before := s.syncClock()
	c.create(`"long_url":"https://example.com/1","custom_hash":"one","tags":["Old"]`)
	c.create(`"long_url":"https://example.com/2","custom_hash":"beside"`)
	created := s.syncClock()
	equal(t, "the link at once", c.at("/v3/urls/one", created).URLs[0].to(), "https://example.com/1")
	c.must(
		http.MethodPatch, "/v3/urls/one",
		`{"urls":[{"custom_hash":"two","long_url":"https://example.com/3","tags":["+News"]}]}`,
	)
	c.must(http.MethodPatch, "/v3/tags/Old", `{"label":"Older"}`)
	edited := s.syncClock()
	c.must(http.MethodDelete, "/v3/urls/two", "")
	c.must(http.MethodDelete, "/v3/tags/News", "")
	deleted := s.syncClock()

	for _, led := range []struct{ hash, at, to, gone string }{
		{"one", before, "", "No URL had lived"},
		{"one", created, "https://example.com/1 Old", ""},
		{"two", created, "", "No URL had lived"},
		{"one", edited, "", `had moved from the hash "one" to "two"`},
		{"two", edited, "https://example.com/3 Older News", ""},
		{"two", deleted, "", "had been deleted on"},
		{"beside", deleted, "https://example.com/2", ""},
	} {
		a := c.at("/v3/urls/"+led.hash, led.at)
		if led.to == "" {
			a.isGone(led.gone)
			continue
		}
		a.is(http.StatusOK, apierror.CodeOK)
		equal(t, led.hash, strings.Join(append([]string{a.URLs[0].to()}, a.URLs[0].Tags...), " "), led.to)
	}
	other.at("/v3/urls/two", deleted).isGone("No URL had lived")

	for _, list := range []struct{ query, at, hashes string }{
		{"", "1066-10-14", ""},
		{"", before, ""},
		{"", created, "beside,one"},
		{"order_by=hash", edited, "beside,two"},
		{"tags=news", edited, "two"},
		{"search=EXAMPLE.com/1", created, "one"},
		{"search=example.com/1", edited, ""},
		{"hashes=one,two,beside&order_by=-hash", edited, "two,beside"},
		{"", deleted, "beside"},
	} {
		a := c.at("/v3/urls?"+list.query, list.at)
		a.is(http.StatusOK, apierror.CodeOK)
		equal(t, list.query, a.hashes(), list.hashes)
	}
	c.at("/v3/urls?tags=news", created).is(http.StatusNotFound, apierror.CodeTagNotFound)
	c.at("/v3/urls?tags=news", deleted).is(http.StatusNotFound, apierror.CodeTagNotFound)
	equal(t, "links then", c.at("/v3/account", edited).counter("urls"), 2)
	equal(t, "links since", c.at("/v3/account", deleted).counter("urls"), 1)
	equal(t, "links created", c.at("/v3/account", deleted).counter("month_urls"), 2)
}

// TestAsOfNowEqualsThePresent checks that responses as of the present equal responses without a
// time.
func TestAsOfNowEqualsThePresent(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.syncClock()
	c := s.client(t, "demo")
	c.create(
		`"long_url":"https://example.com/1","custom_hash":"one","tags":["a","b"],"note":"n","expiration_date":"2099-12-31","max_clicks":9`,
	)
	c.create(`"long_url":"https://example.com/2","custom_hash":"two"`)
	c.create(`"long_url":"https://example.com/3","custom_hash":"gone"`)
	c.must(
		http.MethodPatch, "/v3/urls/two",
		`{"urls":[{"archived":true,"ping":true,"email_stats":true,"protected":true,"tags":["+b"]}]}`,
	)
	c.must(http.MethodDelete, "/v3/urls/gone", "")
	for _, visitor := range []string{"192.0.2.1:1", "192.0.2.2:1", "192.0.2.1:2"} {
		send(t, s.handler, http.MethodGet, "/two", "", from(visitor, "Firefox"))
	}
	past := regexp.MustCompile(`,"past":\{[^}]*\}|"today_api_calls":\{[^}]*\},?`)
	for _, path := range []string{
		"/v3/urls/one", "/v3/urls/two", "/v3/urls?", "/v3/urls?order_by=-modified&limit=1",
		"/v3/urls?search=example&order_by=hash&offset=1",
		"/v3/urls?tags=b%26~archived", "/v3/account",
	} {
		now := s.syncClock()
		then := c.at(path, now)
		then.is(http.StatusOK, apierror.CodeOK)
		equal(
			t, path, past.ReplaceAllString(then.body, ""),
			past.ReplaceAllString(c.must(http.MethodGet, path, "").body, ""),
		)
	}
}

func TestPastClicks(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.syncClock()
	c := s.client(t, "demo")
	c.create(`"long_url":"https://example.com/1","custom_hash":"one"`)
	for _, visitor := range []string{"192.0.2.1:1", "192.0.2.2:1", "192.0.2.1:2"} {
		send(t, s.handler, http.MethodGet, "/one", "", from(visitor, "Firefox"))
	}
	clicked := s.syncClock()
	c.must(http.MethodDelete, "/v3/stats/one", "")
	reset := s.syncClock()
	then, since := c.at("/v3/urls/one", clicked), c.at("/v3/urls/one", reset)
	equal(t, "clicks", then.URLs[0].TotalClicks, 3)
	equal(t, "visitors", then.URLs[0].UniqueClicks, 2)
	equal(t, "clicks after the reset", since.URLs[0].TotalClicks, 0)
	equal(t, "visitors after the reset", since.URLs[0].UniqueClicks, 0)
	equal(t, "visited", since.URLs[0].Visited, true)
}
