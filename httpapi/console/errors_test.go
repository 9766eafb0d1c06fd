package console_test

import (
	"encoding/json"
	"html"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/branchtest"
	"linkledger/httpapi/console"
	"linkledger/httpapi/peer"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/httpapi/router"
	"linkledger/httpapi/session"
	"linkledger/internal/pgserver/postgrestest"
	"linkledger/projections/keystore"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(branchtest.Main{Main: postgrestest.Main{M: m}})
}

// answering is an API that answers a number of calls with a body, and then fails.
type answering struct {
	left    int
	body    string
	failure apierror.Failure
}

// signedIn is the session of a person who may do everything.
const signedIn = `{"error":{"code":0},"session":{"id":"1","account":"acme","role":"owner","scopes":[
	"links:read","links:create","links:write","stats:read","stats:reset","tags:write","history:read","keys","keys:read",
	"members","members:read"]}}`

func (a *answering) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := a.body
	switch {
	case r.URL.Path == "/v3/session" && r.Method == http.MethodGet:
		body = signedIn
	case a.left == 0:
		response.WriteFailure(w, a.failure)
		return
	default:
		a.left--
	}
	response.Write(w, http.StatusOK, "application/json", []byte(body))
}

// opened is a console whose calls an API answers that can be replaced.
type opened struct {
	*console.Handler

	routes *router.Router
	api    http.Handler
}

func (o *opened) ServeHTTP(w http.ResponseWriter, r *http.Request) { o.api.ServeHTTP(w, r) }

func newOpened(t *testing.T) *opened {
	t.Helper()
	o := &opened{}
	now := func() time.Time { return time.Date(2026, 5, 14, 12, 0, 0, 0, time.UTC) }
	pool, err := pgxpool.New(t.Context(), postgrestest.NewDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	keys := keystore.New(pool)
	if err := keys.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	h, err := console.New(console.Config{
		API: o, Base: "http://sho.rt", Logger: slog.New(slog.DiscardHandler),
		Sessions: &session.Sessions{
			Store: keys, Pseudonyms: peer.NewPseudonyms([]byte(strings.Repeat("k", 32))),
			Origins: http.NewCrossOriginProtection(), Base: "http://sho.rt", Now: now,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	o.Handler, o.routes = h, router.New(h.Routes(), func(string) router.Handler { return nil })
	return o
}

// open sends a request whose calls an API answers, and returns the page.
func (o *opened) open(t *testing.T, api http.Handler, method, target string) *httptest.ResponseRecorder {
	t.Helper()
	o.api = api
	answer := httptest.NewRecorder()
	form := url.Values{
		"hash": {"one"}, "change": {"archive"}, "lines": {"https://example.com/"}, "long_url": {"https://example.com/"},
		"batch": {"0c9c1d2e-6a0f-4f55-9b3a-2f1c8f6f1a10"},
	}.Encode()
	r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(form))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "text/html")
	r.AddCookie(&http.Cookie{Name: "linkledger", Value: strings.Repeat("s", 43)})
	c := request.New(answer, r)
	defer c.Begin(time.Minute)()
	if err := o.routes.ServeHTTPError(c, c.Request); err != nil {
		if _, ok := apierror.Refusal(err); !ok {
			t.Errorf("%s %s fails: %v", method, target, err)
		}
		o.WriteFailure(c, response.Report(c, slog.New(slog.DiscardHandler), err))
	}
	return answer
}

// ownWords matches what a page shows of the program on purpose: the calls of the API that do the same.
var ownWords = regexp.MustCompile(`(?s)<pre.*?</pre>|<code>.*?</code>|<(?:script|style).*?</(?:script|style)>`)

var elements = regexp.MustCompile(`<[^>]*>`)

// structures match what programs write and people do not: values and lists as Go prints them, durations, names of
// fields and scopes.
var structures = regexp.MustCompile(`\{\{|\{\[|\[\]|<nil>|%!|map\[|0x[0-9a-f]{6}|\[[a-z:]+( [a-z:]+)*\]|` +
	`\b\d+(h\d+m|m\d)[\d.]*s\b|\b\w+_(url|hash|date|clicks|stats|by|visit)\b|` +
	`\b(links|stats|tags|history|keys|members):(read|write|create|reset)\b`)

// readsPlainly checks that the text of a page, as people read it, has nothing that only programs write.
func readsPlainly(t *testing.T, name, body string) {
	t.Helper()
	text := html.UnescapeString(elements.ReplaceAllString(ownWords.ReplaceAllString(body, ""), " "))
	if at := structures.FindStringIndex(text); at != nil {
		t.Errorf("%s shows %q in %q", name, text[at[0]:at[1]], text[max(0, at[0]-80):min(len(text), at[1]+80)])
	}
}

// failures are answers of the API that a page may get.
var failures = []apierror.Failure{
	{Code: apierror.CodeAccessDenied, Status: http.StatusForbidden, Details: "The caller lacks the scope links:read, keys"},
	{Code: apierror.CodeAccessDenied, Status: http.StatusForbidden},
	{Code: apierror.CodeWrongInput, Status: http.StatusBadRequest, Details: "urls[0].max_clicks must be an integer"},
	{Code: apierror.CodeInvalidDate, Status: http.StatusBadRequest, Details: "expiration_date must be a calendar date"},
	{Code: apierror.CodeMissingInput, Status: http.StatusBadRequest, Details: "long_url is missing"},
	{Code: apierror.CodeURLNotFound, Status: http.StatusNotFound},
	{Code: apierror.CodeTagNotFound, Status: http.StatusNotFound},
	{Code: apierror.CodeInvalidResource, Status: http.StatusNotFound},
	{Code: apierror.CodeMethodNotSupported, Status: http.StatusMethodNotAllowed, Details: "Supported are POST"},
	{Code: apierror.CodeCallLimit, Status: http.StatusTooManyRequests, RetryAfter: 11 * time.Minute},
	{Code: apierror.CodeUnknown, Status: http.StatusInternalServerError},
	{Code: apierror.CodeUnknown, Status: http.StatusBadGateway, Details: "The service cannot answer now, try again"},
}

// records are answers of calls that succeed: with everything, with nothing, and with what is missing.
var records = []string{
	`{"error":{"code":0},"keys":[{}]}`,
	`{"error":{"code":0},"urls":[{"hash":"one","long_url":"https://example.com/","short_url":"sho.rt/one","max_clicks":3,
		"total_clicks":3,"unique_clicks":1,"expiration_date":"2026-01-01","archived":true,"protected":true,"tags":["news"]}],
		"page":{"results_count":1,"total_count":1},"tags":[{"label":"news"}],
		"activity":[{"batch":"0c9c1d2e-6a0f-4f55-9b3a-2f1c8f6f1a10","key":"dfaea8a743e4","via":"api","urls":{"edited":1},"tags":1,
			"account":2,"undoes_key":"dfaea8a743e4"}],"changed":[{"hash":"one","long_url":"https://example.com/"}],
		"keys":[{"id":"dfaea8a743e4","scopes":["links:read","keys"],"networks":["192.0.2.0/24"]}],
		"members":[{"id":"1","role":"viewer"}],"sessions":[{"id":"1","key":"dfaea8a743e4"}],
		"account":{"username":"acme","counters":{"urls":{"count":1}}},
		"deleted":[{"hash":"gone","long_url":"https://example.com/"}],
		"history":{"links":[{"id":"l","hashes":[{"hash":"one","from":"2026-01-01T00:00:00Z"}]}],"events":[
			{"type":"url.settings_changed.v1","link":"l","actor":{"kind":"account","key":"dfaea8a743e4","via":"cli"},"changes":[
				{"field":"max_clicks","before":0,"after":{"newer":[]}},{"field":"expiration_date","before":null,"after":"2026-01-01"},
				{"field":"tags","before":[],"after":["a"]},{"field":"claimed_by"}]}]}}`,
}

// TestEveryPageWithEveryError opens every page and takes every action, while the API fails in every way before each of
// its calls. No page shows what only programs write, and each has a title and a way on.
func TestEveryPageWithEveryError(t *testing.T) {
	t.Parallel()
	if !json.Valid([]byte(records[1])) {
		t.Fatal("the record is not JSON")
	}
	o := newOpened(t)
	fill := strings.NewReplacer(":hash", "one", ":label", "news", ":batch", "0c9c1d2e-6a0f-4f55-9b3a-2f1c8f6f1a10", ":id", "1")
	for _, route := range o.Routes() {
		if strings.Contains(route.Path, ":secret") || strings.Contains(route.Path, ".") {
			continue // no call of the API
		}
		for _, failure := range failures {
			calls := 6
			if route.Method == http.MethodPost {
				calls = 3
			}
			for left := range calls {
				for _, body := range records {
					name := route.Method + " " + route.Path + ", " + failure.Details
					a := o.open(t, &answering{left, body, failure}, route.Method, fill.Replace(route.Path)+"?offset=-1&at=x")
					if a.Code == http.StatusSeeOther || a.Header().Get("Content-Disposition") != "" {
						continue
					}
					readsPlainly(t, name, a.Body.String())
					if page := a.Body.String(); !strings.Contains(page, "<h1>") || strings.Contains(page, "<title> ·") ||
						!strings.Contains(page, `href="/console`) {
						t.Errorf("%s has no title or no way on\n%s", name, page)
					}
				}
			}
		}
	}
}

// TestPagesThatAreNone opens addresses that no page has, and pages in a way that they do not allow.
func TestPagesThatAreNone(t *testing.T) {
	t.Parallel()
	o := newOpened(t)
	for _, of := range []struct {
		method, path, title string
		status              int
	}{
		{"GET", "/console/nothing", "There is no such page", http.StatusNotFound},
		{"GET", "/console/links/one/delete", "This cannot be done here", http.StatusMethodNotAllowed},
		{"DELETE", "/console/links", "This cannot be done here", http.StatusMethodNotAllowed},
	} {
		a := o.open(t, &answering{left: 9, body: records[0]}, of.method, of.path)
		page := a.Body.String()
		readsPlainly(t, of.path, page)
		if a.Code != of.status || !strings.Contains(page, "<h1>"+of.title) || !strings.Contains(page, `aria-label="Console"`) ||
			!strings.Contains(page, `href="/console"`) {
			t.Errorf("%s %s answers %d\n%s", of.method, of.path, a.Code, page)
		}
	}
}
