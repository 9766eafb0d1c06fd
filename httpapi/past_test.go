package httpapi_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/httpapitest"
)

// isGone checks that a refusal says why there was no URL.
func isGone(a *httpapitest.Answer, why string) {
	a.T.Helper()
	a.Is(http.StatusNotFound, apierror.CodeURLNotFound)
	a.Has(why)
}

func to(i httpapitest.Item) string { return *i.LongURL }

func TestPast(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	s.SyncClock()
	c, other := s.Client(t, "demo"), s.Client(t, "other")
	before := s.SyncClock()
	c.Create(`"long_url":"https://example.com/1","custom_hash":"one","tags":["Old"]`)
	c.Create(`"long_url":"https://example.com/2","custom_hash":"beside"`)
	created := s.SyncClock()
	httpapitest.Equal(t, "the link at once", to(c.At("/v3/urls/one", created).URLs[0]), "https://example.com/1")
	c.Must(
		http.MethodPatch, "/v3/urls/one",
		`{"urls":[{"custom_hash":"two","long_url":"https://example.com/3","tags":["+News"]}]}`,
	)
	c.Must(http.MethodPatch, "/v3/tags/Old", `{"label":"Older"}`)
	edited := s.SyncClock()
	c.Must(http.MethodDelete, "/v3/urls/two", "")
	c.Must(http.MethodDelete, "/v3/tags/News", "")
	deleted := s.SyncClock()

	for _, led := range []struct{ hash, at, to, gone string }{
		{"one", before, "", "No URL had lived"},
		{"one", created, "https://example.com/1 Old", ""},
		{"two", created, "", "No URL had lived"},
		{"one", edited, "", `had moved from the hash "one" to "two"`},
		{"two", edited, "https://example.com/3 Older News", ""},
		{"two", deleted, "", "had been deleted on"},
		{"beside", deleted, "https://example.com/2", ""},
	} {
		a := c.At("/v3/urls/"+led.hash, led.at)
		if led.to == "" {
			isGone(a, led.gone)
			continue
		}
		a.Is(http.StatusOK, apierror.CodeOK)
		httpapitest.Equal(t, led.hash, strings.Join(append([]string{to(a.URLs[0])}, a.URLs[0].Tags...), " "), led.to)
	}
	isGone(other.At("/v3/urls/two", deleted), "No URL had lived")

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
		a := c.At("/v3/urls?"+list.query, list.at)
		a.Is(http.StatusOK, apierror.CodeOK)
		httpapitest.Equal(t, list.query, a.Hashes(), list.hashes)
	}
	c.At("/v3/urls?tags=news", created).Is(http.StatusNotFound, apierror.CodeTagNotFound)
	c.At("/v3/urls?tags=news", deleted).Is(http.StatusNotFound, apierror.CodeTagNotFound)
	httpapitest.Equal(t, "links then", c.At("/v3/account", edited).Counter("urls"), 2)
	httpapitest.Equal(t, "links since", c.At("/v3/account", deleted).Counter("urls"), 1)
	httpapitest.Equal(t, "links created", c.At("/v3/account", deleted).Counter("month_urls"), 2)
}

// TestAsOfNowEqualsThePresent checks that responses as of the present equal responses without a
// time.
func TestAsOfNowEqualsThePresent(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	s.SyncClock()
	c := s.Client(t, "demo")
	c.Create(
		`"long_url":"https://example.com/1","custom_hash":"one","tags":["a","b"],"note":"n","expiration_date":"2099-12-31","max_clicks":9`,
	)
	c.Create(`"long_url":"https://example.com/2","custom_hash":"two"`)
	c.Create(`"long_url":"https://example.com/3","custom_hash":"gone"`)
	c.Must(
		http.MethodPatch, "/v3/urls/two",
		`{"urls":[{"archived":true,"ping":true,"email_stats":true,"protected":true,"tags":["+b"]}]}`,
	)
	c.Must(http.MethodDelete, "/v3/urls/gone", "")
	for _, visitor := range []string{"192.0.2.1:1", "192.0.2.2:1", "192.0.2.1:2"} {
		httpapitest.Send(t, s.Server, http.MethodGet, "/two", "", httpapitest.From(visitor, "Firefox"))
	}
	past := regexp.MustCompile(`,"past":\{[^}]*\}|"today_api_calls":\{[^}]*\},?`)
	for _, path := range []string{
		"/v3/urls/one", "/v3/urls/two", "/v3/urls?", "/v3/urls?order_by=-modified&limit=1",
		"/v3/urls?search=example&order_by=hash&offset=1",
		"/v3/urls?tags=b%26~archived", "/v3/account",
	} {
		now := s.SyncClock()
		then := c.At(path, now)
		then.Is(http.StatusOK, apierror.CodeOK)
		httpapitest.Equal(
			t, path, past.ReplaceAllString(then.Body, ""),
			past.ReplaceAllString(c.Must(http.MethodGet, path, "").Body, ""),
		)
	}
}

func TestPastClicks(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	s.SyncClock()
	c := s.Client(t, "demo")
	c.Create(`"long_url":"https://example.com/1","custom_hash":"one"`)
	for _, visitor := range []string{"192.0.2.1:1", "192.0.2.2:1", "192.0.2.1:2"} {
		httpapitest.Send(t, s.Server, http.MethodGet, "/one", "", httpapitest.From(visitor, "Firefox"))
	}
	clicked := s.SyncClock()
	c.Must(http.MethodDelete, "/v3/stats/one", "")
	reset := s.SyncClock()
	then, since := c.At("/v3/urls/one", clicked), c.At("/v3/urls/one", reset)
	httpapitest.Equal(t, "clicks", then.URLs[0].TotalClicks, 3)
	httpapitest.Equal(t, "visitors", then.URLs[0].UniqueClicks, 2)
	httpapitest.Equal(t, "clicks after the reset", since.URLs[0].TotalClicks, 0)
	httpapitest.Equal(t, "visitors after the reset", since.URLs[0].UniqueClicks, 0)
	httpapitest.Equal(t, "visited", since.URLs[0].Visited, true)
}
