package httpapi_test

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"linkledger/internal/operators/operatorstest"

	"github.com/google/uuid"

	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/openapi/openapitest"
	"linkledger/httpapi/router"
	"linkledger/internal/soak"
	"linkledger/queries/accountlist"
)

// asker makes requests. sign adds the credentials.
type asker struct {
	name string
	sign httpapitest.With
}

// oddHeaders are headers that no handler expects, one request for each line. Clients may send any of them.
var oddHeaders = [][]string{
	{}, // none
	{"Accept", "text/event-stream"},
	{"Accept", "text/event-stream", "Sec-Fetch-Site", "same-origin", "Last-Event-ID", "\x00"},
	{"Accept", "text/event-stream", "Sec-Fetch-Site", "cross-site"},
	{"Accept", "*/*"},
	{"Accept", "text/html;q=x, , a/b;;;, application/json;q=NaN"},
	{"Accept", "text/html", "Sec-Fetch-Site", "same-origin"},
	{"Accept-Encoding", "br;q=2, *;q=-1", "Accept-Language", strings.Repeat("x", 5000)},
	{"Range", "bytes=5-"},
	{"Range", "bytes=9-1,-0,x", "If-Range", `"x"`},
	{"If-None-Match", "*", "If-Modified-Since", "never"},
	{"If-Match", `"x"`, "If-Unmodified-Since", "Mon, 01 Jan 0001 00:00:00 GMT"},
	{"Content-Type", "multipart/form-data"},
	{"Content-Type", "multipart/form-data; boundary=x"},
	{"Content-Type", "application/x-www-form-urlencoded; charset=x"},
	{"Content-Type", "; ="},
	{"Content-Type", "text/plain"},
	{"Content-Encoding", "gzip"},
	{"X-HTTP-Method-Override", "CONNECT"},
	{"X-HTTP-Method-Override", "G T\x00"},
	{"Origin", "null", "Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "navigate"},
	{"Origin", "https://evil.example", "Sec-Fetch-Site", "x", "Sec-Fetch-Dest", "\xff"},
	{"Origin", "http://" + httpapitest.ShortHost, "Access-Control-Request-Method", "X Y", "Access-Control-Request-Headers", ",\x00"},
	{"Authorization", "Basic !"},
	{"Authorization", "Bearer x"},
	{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("a\x00b\xff:\x00"))},
	{"X-Tinycc-User", "\x00\xff", "X-Tinycc-Key", strings.Repeat("x", 5000)},
	{"Cookie", "linkledger=" + strings.Repeat("A", 43) + "; linkledger=x; \x00=\xff;;"},
	{"Idempotency-Key", "\x00", "X-Request-Id", "\xff"},
	{"Idempotency-Key", strings.Repeat("k", 5000)},
	{"X-Forwarded-For", "x, ,::%eth0", "X-Forwarded-Proto", "https", "User-Agent", "\xff\x00"},
	{"Traceparent", "00-x-y-z", "Tracestate", "\xff", "Upgrade", "websocket", "Connection", "upgrade"},
}

// oddBodies are bodies of no form that a call has.
var oddBodies = []string{
	"{", "null", "[]", `"x"`, "1e999", `{"urls":null}`, `{"urls":[null]}`, `{"urls":{"a":1}}`, `{"urls":[]}`,
	`{"urls":[{"long_url":{}}]}`, `{"name":[],"scopes":{},"tags":1,"id":0,"role":[],"account":{},"label":null,"file":[]}`,
	strings.Repeat("[", 100_000), strings.Repeat(`{"urls":`, 20_000), `{"file":"` + strings.Repeat("x", 1<<20) + `"}`,
	"\xff\xfe", "\x00", "a=%zz&urls[0][long_url]=x", "urls[x][y][z][a]=1&urls=2", "--x\r\n\r\n", "--x\r\nContent-Disposition: form-data; name=file\r\n\r\nx\r\n--x--\r\n",
	`{"file":"linkledger proof\n\n0 x\n"}`, `{"file":"# {\"export\":1}\n# {}\n"}`, `{"file":"{\"export\":{}}\n{}\n"}`,
}

// oddQueries are odd query strings, without parameters with odd values.
var oddQueries = []string{"%zz", "&&==&", "{", ";", strings.Repeat("a=b&", 5000), "at=2026-05-14T11:00:00Z", "limit=1000&offset=1"}

// oddValues are odd values of parameters and of segments of paths.
var oddValues = []string{
	"\x00", "\xff", "'\"\\%_", "-1", "9223372036854775807", "9223372036854775808", "0001-01-01", "9999-12-31T23:59:59Z",
	"((~", "..", ".", "a/b", strings.Repeat("é", 3000), "00000000-0000-0000-0000-000000000000", " ",
}

// parameterOf matches the parameters of the path of a route.
var parameterOf = regexp.MustCompile(`:[a-z]+`)

// parameters are the names of all parameters of the description and of the consoles.
func parameters(t *testing.T) []string {
	t.Helper()
	operations, err := openapitest.Operations()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{"return": true, "stream": true, "revision": true, "state": true, "error": true}
	for _, operation := range operations {
		for _, p := range operation.Parameters {
			if p.In == "query" {
				names[p.Name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// walk makes requests of every route as every asker.
type walk struct {
	t       *testing.T
	handler http.Handler
	askers  []asker
	names   []string
	// paths makes what the paths lead to for an asker, if it is gone, and puts it in the place of the parameters.
	paths func(as asker) *strings.Replacer

	mu       sync.Mutex
	asked    int
	statuses map[int]int
}

// takes reports whether the next of many requests is made. A short run leaves out most of them, for each asker others.
func (w *walk) takes() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	return w.asked%soak.N(53, 1) == 0
}

// oneStream ends a request once it answers with a stream, which would go on for minutes.
type oneStream struct {
	*httptest.ResponseRecorder

	leave func()
}

func (o oneStream) WriteHeader(status int) {
	o.ResponseRecorder.WriteHeader(status)
	if o.Header().Get("Content-Type") == "text/event-stream" {
		o.leave()
	}
}

// ask makes a request, and checks that its answer does not say that the service has failed.
func (w *walk) ask(as asker, method, path, body string, changes ...httpapitest.With) {
	w.t.Helper()
	target, err := url.Parse(path)
	if err != nil {
		return // net/http refuses it
	}
	ctx, leave := context.WithCancel(w.t.Context())
	defer leave()
	r := httptest.NewRequestWithContext(ctx, method, "http://"+httpapitest.ShortHost+"/", strings.NewReader(body))
	target.Scheme, target.Host = r.URL.Scheme, r.URL.Host
	r.URL, r.RequestURI = target, path
	r.Header.Set("Content-Type", "application/json")
	as.sign(r)
	for _, change := range changes {
		change(r)
	}
	recorder := httptest.NewRecorder()
	w.handler.ServeHTTP(oneStream{recorder, leave}, r)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.statuses[recorder.Code]++
	switch retry := recorder.Header().Get("Retry-After"); {
	case recorder.Code >= http.StatusInternalServerError:
		w.t.Errorf("%s: %s %.200q %.100q %.200v is answered %d %.300s", as.name, method, path, body, r.Header, recorder.Code, recorder.Body)
	case recorder.Code == http.StatusTooManyRequests && retry == "":
		w.t.Errorf("%s: %s %.200q is answered 429 without Retry-After", as.name, method, path)
	}
}

// route makes the requests of one route.
func (w *walk) route(as asker, route router.Route) {
	path := w.paths(as).Replace(route.Path)
	some := func(method, path, body string, changes ...httpapitest.With) {
		if w.takes() {
			w.ask(as, method, path, body, changes...)
		}
	}
	for i, headers := range oddHeaders {
		ask := some
		if i < 4 { // no headers, and the headers of watched pages
			ask = func(method, path, body string, changes ...httpapitest.With) {
				w.ask(as, method, path, body, changes...)
			}
		}
		ask(route.Method, path, `{"urls":[{}]}`, func(r *http.Request) {
			for i := 0; i < len(headers); i += 2 {
				r.Header.Set(headers[i], headers[i+1])
			}
		})
	}
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "X"} {
		some(method, path, "")
		some("POST", path, `{"urls":[{}]}`, httpapitest.Header("X-HTTP-Method-Override", method))
	}
	for _, query := range oddQueries {
		some(route.Method, path+"?"+query, "")
	}
	for _, value := range oddValues {
		for _, name := range w.names {
			some(route.Method, path+"?"+name+"="+url.QueryEscape(value), "")
		}
		odd := parameterOf.ReplaceAllLiteralString(route.Path, url.PathEscape(value))
		if odd != route.Path {
			some(route.Method, odd, `{"urls":[{"note":"x"}]}`)
		}
	}
	for _, host := range []string{"", "x y", "[", "a:b:c", "\xff"} {
		some(route.Method, path, "", func(r *http.Request) { r.Host = host })
	}
	if route.Method == http.MethodGet {
		return
	}
	for _, body := range oddBodies {
		for _, kind := range []string{"application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"} {
			some(route.Method, path, body, httpapitest.Header("Content-Type", kind), httpapitest.Header("Sec-Fetch-Site", "same-origin"))
		}
	}
	some(route.Method, path, "", func(r *http.Request) {
		r.Body, r.ContentLength = io.NopCloser(iotest.ErrReader(errors.New("cut off"))), 100
	})
}

// all makes the requests of all routes.
func (w *walk) all(routes []router.Route) {
	if len(routes) == 0 {
		w.t.Fatal("there are no routes")
	}
	var walking sync.WaitGroup
	for _, as := range w.askers {
		walking.Go(func() {
			for _, route := range routes {
				w.route(as, route)
			}
		})
	}
	walking.Wait()
	w.t.Log("answers by status:", w.statuses)
}

// sessionOf signs requests with a new session each time, because some requests end theirs.
func sessionOf(t *testing.T, s *httpapitest.Stack, name string, of accountlist.NewSession) asker {
	t.Helper()
	return asker{name, func(r *http.Request) {
		for _, cookie := range browsertest.Started(t, s, of).Cookies {
			r.AddCookie(cookie)
		}
	}}
}

// by signs requests with a key.
func by(name string, c *httpapitest.Client) asker {
	return asker{name, func(r *http.Request) { r.SetBasicAuth(c.Username, c.Key) }}
}

var stranger = asker{"stranger", func(*http.Request) {}}

// askersOf are all kinds of callers of an account.
func askersOf(t *testing.T, s *browsertest.Site, owner *httpapitest.Client) []asker {
	t.Helper()
	account, key := uuid.MustParse(owner.ID), owner.Must("GET", "/v3/keys", "").Keys[0].ID
	return []asker{
		stranger, by("tenant", owner), by("bound key", owner.WithKey(`"tags":"+news"`)),
		sessionOf(t, s.Stack, "person", s.ViewerOf(t, owner)),
		sessionOf(t, s.Stack, "session of a key", accountlist.NewSession{Account: account, Key: key}),
		sessionOf(t, s.Stack, "operator", accountlist.NewSession{Operator: true}),
	}
}

// TestNothingThatACallerAsksIsTheNodesFault asks for every route of the public listener in odd ways, as everybody.
// While all parts of the service work, no answer says that the service has failed.
func TestNothingThatACallerAsksIsTheNodesFault(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	owner := s.Client(t, "acme")
	owner.Create(`"long_url":"https://example.com/","tags":["news"]`)
	batch := owner.Must("GET", "/v3/activity", "").Activity[0].Batch
	w := &walk{
		t: t, handler: s.Server, askers: askersOf(t, s, owner), names: parameters(t), statuses: make(map[int]int),
		paths: func(as asker) *strings.Replacer {
			hash := strings.ReplaceAll(as.name, " ", "-")
			owner.Call("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"`+hash+`","tags":["news"]}]}`)
			return strings.NewReplacer(
				":hash", hash, ":label", "news", ":id", batch, ":batch", batch, ":secret", strings.Repeat("A", 43),
			)
		},
	}
	w.all(append(s.Server.Routes(), router.Route{Method: "GET", Path: "/"}))
	s.CatchUp(t)
}

// TestNothingThatAnOperatorAsksIsTheNodesFault does the same with the console of operators.
func TestNothingThatAnOperatorAsksIsTheNodesFault(t *testing.T) {
	t.Parallel()
	s, h := operatorstest.New(t, httpapitest.Timeout)
	owner := s.Client(t, "acme")
	w := &walk{
		t: t, handler: h, names: parameters(t), statuses: make(map[int]int),
		askers: []asker{
			stranger, sessionOf(t, s, "operator", accountlist.NewSession{Operator: true}),
			sessionOf(t, s, "session of a key", accountlist.NewSession{
				Account: uuid.MustParse(owner.ID), Key: owner.Must("GET", "/v3/keys", "").Keys[0].ID,
			}),
		},
		paths: func(asker) *strings.Replacer {
			return strings.NewReplacer(":name", "tags", ":secret", strings.Repeat("A", 43))
		},
	}
	w.all(h.Routes())
}
