package httpapi

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/request"
)

const (
	pageOrigin    = "https://app.example.com"
	clientHeaders = "authorization,content-type,idempotency-key,x-http-method-override,x-request-id,x-tinycc-key,x-tinycc-user"
)

// preflight sends the request that a browser sends before a call from another origin.
func preflight(t *testing.T, handler http.Handler, path, origin, method, headers string) *answer {
	t.Helper()
	return send(t, handler, http.MethodOptions, path, "", header("Origin", origin),
		header("Access-Control-Request-Method", method), header("Access-Control-Request-Headers", headers))
}

// shared returns the headers by which browsers decide whether a page may read a response.
func (a *answer) shared() []string {
	var found []string
	for name := range a.header {
		if strings.HasPrefix(name, "Access-Control-") {
			found = append(found, name+": "+strings.Join(a.header[name], " | "))
		}
	}
	slices.Sort(found)
	return found
}

func handlerFor(t *testing.T, origins ...string) http.Handler {
	t.Helper()
	cfg := newStackless() // a call of the database or the event store would panic
	cfg.Origins = origins
	handler, err := New(cfg)
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
			if !slices.Equal(a.shared(), tc.want) {
				t.Errorf("%s: %s: %q; want %q", name, path, a.shared(), tc.want)
			}
			if len(tc.origins) > 0 {
				equal(t, name+": status", a.status, http.StatusNoContent)
				equal(t, name+": body", a.body, "")
				equal(t, name+": Vary", strings.HasPrefix(a.header.Get("Vary"), "Origin"), true)
			}
		}
	}
	twice := send(t, handlerFor(t, pageOrigin), http.MethodOptions, "/v3/urls", "", func(r *http.Request) {
		r.Header["Origin"] = []string{pageOrigin, "https://evil.example"}
		r.Header.Set("Access-Control-Request-Method", "GET")
	})
	equal(t, "two origins", len(twice.shared()), 0)
}

// TestAnswersAreSharedWithListedOrigins checks that every kind of response names the origin that
// may read it. No response allows cookies.
func TestAnswersAreSharedWithListedOrigins(t *testing.T) {
	t.Parallel()
	s := newStack(t, func(cfg *Config) { cfg.Origins, cfg.BodyLimit = []string{pageOrigin}, 1000 })
	c := s.client(t, "alice")
	want := []string{
		"Access-Control-Allow-Origin: " + pageOrigin,
		"Access-Control-Expose-Headers: Retry-After, Allow, X-Request-Id, X-Batch-Id, X-Event-Position, X-Seconds-Behind",
	}
	stranger := s.stranger(t, "nobody")
	calls := map[string]func(...with) *answer{
		"success": func(w ...with) *answer { return c.call("POST", "/v3/urls", batch(1), w...) },
		"HEAD":    func(w ...with) *answer { return c.call("HEAD", "/v3/urls", "", w...) },
		"OPTIONS": func(w ...with) *answer { return c.call("OPTIONS", "/v3/urls", "", w...) },
		"override": func(w ...with) *answer {
			return c.call("POST", "/v3/urls/none", "{}", append(w, header(request.HeaderMethod, "PATCH"))...)
		},
		"no credentials": func(w ...with) *answer { return send(t, s.handler, "GET", "/v3/urls", "", w...) },
		"bad login":      func(w ...with) *answer { return stranger.call("GET", "/v3/urls", "", w...) },
		"not found":      func(w ...with) *answer { return c.call("GET", "/v3/urls/none", "", w...) },
		"no such path":   func(w ...with) *answer { return c.call("GET", "/v3/nothing", "", w...) },
		"odd path":       func(w ...with) *answer { return c.call("GET", "/v3//urls", "", w...) },
		"method":         func(w ...with) *answer { return c.call("PUT", "/v3/urls", "", w...) },
		"too large":      func(w ...with) *answer { return c.call("POST", "/v3/urls", batch(50), w...) },
		"docs":           func(w ...with) *answer { return c.call("GET", "/v3/docs", "", w...) },
	}
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		call := calls[name]
		a := call(header("Origin", pageOrigin))
		if !slices.Equal(a.shared(), want) {
			t.Errorf("%s: %q; want %q", name, a.shared(), want)
		}
		equal(t, name+": Vary", strings.Join(a.header.Values("Vary"), ", "), "Origin")
		for _, other := range []with{
			header("Origin", "https://evil.example"), header("Origin", "null"), header("Accept", "*/*"),
		} {
			a := call(other)
			equal(t, name+": shared with another", strings.Join(a.shared(), ", "), "")
			equal(t, name+": Vary", strings.Join(a.header.Values("Vary"), ", "), "Origin")
		}
	}
	for range loginsWithReason {
		stranger.call("GET", "/v3/urls", "")
	}
	throttled := stranger.call("GET", "/v3/urls", "", header("Origin", pageOrigin))
	throttled.is(http.StatusTooManyRequests, apierror.CodeCallLimit)
	equal(t, "Retry-After", throttled.header.Get("Retry-After"), "1")
	if !slices.Equal(throttled.shared(), want) {
		t.Errorf("throttled: %q", throttled.shared())
	}
	s.db.Pool.Close()
	down := c.call("GET", "/v3/tags", "", header("Origin", pageOrigin))
	down.is(http.StatusServiceUnavailable, apierror.CodeUnknown)
	if !slices.Equal(down.shared(), want) {
		t.Errorf("outage: %q", down.shared())
	}
}

// TestWhatIsSharedWithAllOrigins checks that pages of all origins may read the description, and
// that no page may read short links or, by default, the API.
func TestWhatIsSharedWithAllOrigins(t *testing.T) {
	t.Parallel()
	for _, origins := range [][]string{nil, {pageOrigin}, {AnyOrigin}} {
		handler := handlerFor(t, origins...)
		for _, path := range []string{"/v3/openapi.json", "/v3/openapi.json/"} {
			a := send(t, handler, "GET", path, "", header("Origin", "https://other.example"))
			equal(t, "status", a.status, http.StatusOK)
			equal(t, "origin", a.header.Get("Access-Control-Allow-Origin"), "*")
			a = preflight(t, handler, path, "https://other.example", "GET", "authorization")
			equal(t, "origin", a.header.Get("Access-Control-Allow-Origin"), "*")
		}
		for _, path := range []string{"/", "/a.b", "/favicon.ico", "/robots.txt", "/openapi.json"} {
			a := send(t, handler, "GET", path, "", header("Origin", pageOrigin))
			equal(t, path+": shared", strings.Join(a.shared(), ", "), "")
		}
	}
	a := send(t, handlerFor(t), "GET", "/v3/urls", "", header("Origin", pageOrigin))
	equal(t, "shared by default", strings.Join(a.shared(), ", "), "")
	a = preflight(t, handlerFor(t), "/v3/urls", pageOrigin, "GET", "authorization")
	equal(t, "preflight by default", a.status, http.StatusOK)
	equal(t, "shared by default", strings.Join(a.shared(), ", "), "")
	a = send(t, handlerFor(t, AnyOrigin), "GET", "/v3/urls", "", header("Origin", pageOrigin))
	equal(t, "origin", a.header.Get("Access-Control-Allow-Origin"), "*")
	equal(t, "with cookies", a.header.Get("Access-Control-Allow-Credentials"), "")
}

func TestOriginsAreSpelledAsBrowsersDo(t *testing.T) {
	t.Parallel()
	for _, right := range []string{
		"*", "https://a.example", "http://a.example", "http://localhost:3000", "http://127.0.0.1:8080",
		"http://[::1]:3000",
		"http://a.example:443", "https://a.example:80", "https://xn--bcher-kva.example", "http://my_host",
	} {
		if err := CheckOrigins([]string{right}); err != nil {
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
		if CheckOrigins([]string{wrong}) == nil {
			t.Errorf("%q is accepted as an origin", wrong)
		}
	}
	if CheckOrigins([]string{"https://a.example", "*"}) == nil {
		t.Error("* is accepted together with another origin")
	}
	cfg := newStackless()
	cfg.Origins = []string{"null"}
	if _, err := New(cfg); err == nil {
		t.Error("null is accepted as an origin")
	}
}
