package httpapi_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"linkledger/httpapi"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/request"
)

const (
	pageOrigin    = "https://app.example.com"
	clientHeaders = "authorization,content-type,idempotency-key,x-http-method-override,x-request-id,x-tinycc-key,x-tinycc-user"
)

// preflight sends the request that a browser sends before a call from another origin.
func preflight(t *testing.T, handler http.Handler, path, origin, method, headers string) *httpapitest.Answer {
	t.Helper()
	return httpapitest.Send(t, handler, http.MethodOptions, path, "", httpapitest.Header("Origin", origin),
		httpapitest.Header("Access-Control-Request-Method", method), httpapitest.Header("Access-Control-Request-Headers", headers))
}

// shared returns the headers that allow or forbid a page to read a response.
func shared(a *httpapitest.Answer) []string {
	var found []string
	for name := range a.Header {
		if strings.HasPrefix(name, "Access-Control-") {
			found = append(found, name+": "+strings.Join(a.Header[name], " | "))
		}
	}
	slices.Sort(found)
	return found
}

func handlerFor(t *testing.T, origins ...string) http.Handler {
	t.Helper()
	cfg := httpapitest.Bare() // a call of the database or the event store would panic
	cfg.Origins = origins
	handler, err := httpapi.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

func TestPreflights(t *testing.T) {
	t.Parallel()
	allowed := func(origin, method string) []string {
		return []string{
			"Access-Control-Allow-Headers: " + clientHeaders, "Access-Control-Allow-Methods: " + method,
			"Access-Control-Allow-Origin: " + origin, "Access-Control-Max-Age: 7200",
		}
	}
	for name, tc := range map[string]struct {
		origins []string
		origin  string
		method  string
		headers string
		want    []string
	}{
		"listed": {
			[]string{"http://localhost:3000", pageOrigin},
			pageOrigin, "PATCH", clientHeaders,
			allowed(pageOrigin, "PATCH"),
		},
		"all":               {[]string{"*"}, pageOrigin, "DELETE", clientHeaders, allowed("*", "DELETE")},
		"all, no origin":    {[]string{"*"}, "null", "GET", clientHeaders, allowed("*", "GET")},
		"another header":    {[]string{pageOrigin}, pageOrigin, "GET", "cookie", nil},
		"another method":    {[]string{pageOrigin}, pageOrigin, "CONNECT", clientHeaders, nil},
		"another origin":    {[]string{pageOrigin}, "https://evil.example", "GET", clientHeaders, nil},
		"another scheme":    {[]string{pageOrigin}, "http://app.example.com", "GET", clientHeaders, nil},
		"another port":      {[]string{pageOrigin}, pageOrigin + ":8443", "GET", clientHeaders, nil},
		"a longer host":     {[]string{pageOrigin}, pageOrigin + ".evil.example", "GET", clientHeaders, nil},
		"a subdomain":       {[]string{pageOrigin}, "https://x.app.example.com", "GET", clientHeaders, nil},
		"a parent":          {[]string{pageOrigin}, "https://example.com", "GET", clientHeaders, nil},
		"another spelling":  {[]string{pageOrigin}, "https://App.example.com", "GET", clientHeaders, nil},
		"no origin":         {[]string{pageOrigin}, "null", "GET", clientHeaders, nil},
		"no origin, empty":  {[]string{pageOrigin}, "", "GET", clientHeaders, nil},
		"all but not named": {nil, pageOrigin, "GET", clientHeaders, nil},
	} {
		handler := handlerFor(t, tc.origins...)
		for _, path := range []string{
			"/v3/urls", "/v3/urls/one", "/v3/stats", "/v3/tags/a%20b/", "/v3/nothing", "/v3",
		} {
			a := preflight(t, handler, path, tc.origin, tc.method, tc.headers)
			if !slices.Equal(shared(a), tc.want) {
				t.Errorf("%s: %s: %q; want %q", name, path, shared(a), tc.want)
			}
			if len(tc.origins) > 0 {
				httpapitest.Equal(t, name+": status", a.Status, http.StatusNoContent)
				httpapitest.Equal(t, name+": body", a.Body, "")
				httpapitest.Equal(t, name+": Vary", strings.HasPrefix(a.Header.Get("Vary"), "Origin"), true)
			}
		}
	}
	twice := httpapitest.Send(t, handlerFor(t, pageOrigin), http.MethodOptions, "/v3/urls", "", func(r *http.Request) {
		r.Header["Origin"] = []string{pageOrigin, "https://evil.example"}
		r.Header.Set("Access-Control-Request-Method", "GET")
	})
	httpapitest.Equal(t, "two origins", len(shared(twice)), 0)
}

// TestAnswersAreSharedWithListedOrigins checks that every kind of response names the origin that
// may read it. No response allows cookies.
func TestAnswersAreSharedWithListedOrigins(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t, func(cfg *httpapi.Config) { cfg.Origins, cfg.BodyLimit = []string{pageOrigin}, 1000 })
	c := s.Client(t, "alice")
	want := []string{
		"Access-Control-Allow-Origin: " + pageOrigin,
		"Access-Control-Expose-Headers: Retry-After, Allow, X-Request-Id, X-Batch-Id, X-Event-Position, X-Seconds-Behind",
	}
	stranger := s.Stranger(t, "nobody")
	calls := map[string]func(...httpapitest.With) *httpapitest.Answer{
		"success": func(w ...httpapitest.With) *httpapitest.Answer {
			return c.Call("POST", "/v3/urls", httpapitest.Batch(1), w...)
		},
		"HEAD":    func(w ...httpapitest.With) *httpapitest.Answer { return c.Call("HEAD", "/v3/urls", "", w...) },
		"OPTIONS": func(w ...httpapitest.With) *httpapitest.Answer { return c.Call("OPTIONS", "/v3/urls", "", w...) },
		"override": func(w ...httpapitest.With) *httpapitest.Answer {
			return c.Call("POST", "/v3/urls/none", "{}", append(w, httpapitest.Header(request.HeaderMethod, "PATCH"))...)
		},
		"no credentials": func(w ...httpapitest.With) *httpapitest.Answer {
			return httpapitest.Send(t, s.Server, "GET", "/v3/urls", "", w...)
		},
		"bad login":    func(w ...httpapitest.With) *httpapitest.Answer { return stranger.Call("GET", "/v3/urls", "", w...) },
		"not found":    func(w ...httpapitest.With) *httpapitest.Answer { return c.Call("GET", "/v3/urls/none", "", w...) },
		"no such path": func(w ...httpapitest.With) *httpapitest.Answer { return c.Call("GET", "/v3/nothing", "", w...) },
		"odd path":     func(w ...httpapitest.With) *httpapitest.Answer { return c.Call("GET", "/v3//urls", "", w...) },
		"method":       func(w ...httpapitest.With) *httpapitest.Answer { return c.Call("PUT", "/v3/urls", "", w...) },
		"too large": func(w ...httpapitest.With) *httpapitest.Answer {
			return c.Call("POST", "/v3/urls", httpapitest.Batch(50), w...)
		},
		"docs": func(w ...httpapitest.With) *httpapitest.Answer { return c.Call("GET", "/v3/docs", "", w...) },
	}
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		call := calls[name]
		a := call(httpapitest.Header("Origin", pageOrigin))
		if !slices.Equal(shared(a), want) {
			t.Errorf("%s: %q; want %q", name, shared(a), want)
		}
		httpapitest.Equal(t, name+": Vary", strings.Join(a.Header.Values("Vary"), ", "), "Origin")
		for _, other := range []httpapitest.With{
			httpapitest.Header("Origin", "https://evil.example"), httpapitest.Header("Origin", "null"), httpapitest.Header("Accept", "*/*"),
		} {
			a := call(other)
			httpapitest.Equal(t, name+": shared with another", strings.Join(shared(a), ", "), "")
			httpapitest.Equal(t, name+": Vary", strings.Join(a.Header.Values("Vary"), ", "), "Origin")
		}
	}
	for range httpapitest.LoginsWithReason {
		stranger.Call("GET", "/v3/urls", "")
	}
	throttled := stranger.Call("GET", "/v3/urls", "", httpapitest.Header("Origin", pageOrigin))
	throttled.Is(http.StatusTooManyRequests, apierror.CodeCallLimit)
	httpapitest.Equal(t, "Retry-After", throttled.Header.Get("Retry-After"), "1")
	if !slices.Equal(shared(throttled), want) {
		t.Errorf("throttled: %q", shared(throttled))
	}
	s.DB.Pool.Close()
	down := c.Call("GET", "/v3/tags", "", httpapitest.Header("Origin", pageOrigin))
	down.Is(http.StatusServiceUnavailable, apierror.CodeUnknown)
	if !slices.Equal(shared(down), want) {
		t.Errorf("outage: %q", shared(down))
	}
}

// TestWhatIsSharedWithAllOrigins checks that pages of all origins may read the description, and
// that no page may read short links or, by default, the API.
func TestWhatIsSharedWithAllOrigins(t *testing.T) {
	t.Parallel()
	for _, origins := range [][]string{nil, {pageOrigin}, {httpapi.AnyOrigin}} {
		handler := handlerFor(t, origins...)
		for _, path := range []string{"/v3/openapi.json", "/v3/openapi.json/"} {
			a := httpapitest.Send(t, handler, "GET", path, "", httpapitest.Header("Origin", "https://other.example"))
			httpapitest.Equal(t, "status", a.Status, http.StatusOK)
			httpapitest.Equal(t, "origin", a.Header.Get("Access-Control-Allow-Origin"), "*")
			a = preflight(t, handler, path, "https://other.example", "GET", "authorization")
			httpapitest.Equal(t, "origin", a.Header.Get("Access-Control-Allow-Origin"), "*")
		}
		for _, path := range []string{"/", "/a.b", "/favicon.ico", "/robots.txt", "/openapi.json"} {
			a := httpapitest.Send(t, handler, "GET", path, "", httpapitest.Header("Origin", pageOrigin))
			httpapitest.Equal(t, path+": shared", strings.Join(shared(a), ", "), "")
		}
	}
	a := httpapitest.Send(t, handlerFor(t), "GET", "/v3/urls", "", httpapitest.Header("Origin", pageOrigin))
	httpapitest.Equal(t, "shared by default", strings.Join(shared(a), ", "), "")
	a = preflight(t, handlerFor(t), "/v3/urls", pageOrigin, "GET", "authorization")
	httpapitest.Equal(t, "preflight by default", a.Status, http.StatusOK)
	httpapitest.Equal(t, "shared by default", strings.Join(shared(a), ", "), "")
	a = httpapitest.Send(t, handlerFor(t, httpapi.AnyOrigin), "GET", "/v3/urls", "", httpapitest.Header("Origin", pageOrigin))
	httpapitest.Equal(t, "origin", a.Header.Get("Access-Control-Allow-Origin"), "*")
	httpapitest.Equal(t, "with cookies", a.Header.Get("Access-Control-Allow-Credentials"), "")
}

func TestOriginsAreSpelledAsBrowsersDo(t *testing.T) {
	t.Parallel()
	for _, right := range []string{
		"*", "https://a.example", "http://a.example", "http://localhost:3000", "http://127.0.0.1:8080",
		"http://[::1]:3000",
		"http://a.example:443", "https://a.example:80", "https://xn--bcher-kva.example", "http://my_host",
	} {
		if err := httpapi.CheckOrigins([]string{right}); err != nil {
			t.Error(err)
		}
	}
	for _, wrong := range []string{
		"", "null", "a.example", "//a.example", "https://", "https://a.example/", "https://a.example/x",
		"https://a.example?", "https://a.example#",
		"https://A.example", "HTTPS://a.example", "https://a.example:443", "http://a.example:80", "http://a.example:",
		"http://a.example:080",
		"http://a.example:65536", "https://u@a.example", "https://u:p@a.example", "https://*.a.example", "https://*",
		"http*://a.example",
		"https://bücher.example", "https://a.example.", "https://a b", "https://a,https://b", "file://",
		"ftp://a.example", "http://[::1", "http://::1",
		"http://[0:0::1]", "http://0x7f.1", "https://a%2eexample", " https://a.example",
	} {
		if httpapi.CheckOrigins([]string{wrong}) == nil {
			t.Errorf("%q is accepted as an origin", wrong)
		}
	}
	if httpapi.CheckOrigins([]string{"https://a.example", "*"}) == nil {
		t.Error("* is accepted together with another origin")
	}
	cfg := httpapitest.Bare()
	cfg.Origins = []string{"null"}
	if _, err := httpapi.New(cfg); err == nil {
		t.Error("null is accepted as an origin")
	}
}
