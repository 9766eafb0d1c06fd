package httpapi_test

import (
	"context"
	"encoding/json"
	"flag"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"linkledger/httpapi"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/pagetest"
)

// clientScripts replaces the page's client with the original's own client, which is not in this
// repository.
var clientScripts = flag.String(
	"client-scripts", "", "files of jQuery and the original's client, with a comma between them",
)

// pages serves the test page under a new origin.
func pages(t *testing.T) *httptest.Server {
	t.Helper()
	files := http.NewServeMux()
	files.Handle("/", http.FileServer(http.Dir("testdata/browser")))
	if *clientScripts != "" {
		var scripts []byte
		for name := range strings.SplitSeq(*clientScripts, ",") {
			script, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			scripts = append(scripts, script...)
		}
		scripts = append(scripts, "\nconst Client = tinycc_client;\n"...)
		files.HandleFunc("/client.js", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(scripts) })
	}
	server := httptest.NewServer(files)
	t.Cleanup(server.Close)
	return server
}

// evaluate opens a page and returns the result of an expression of its scripts.
func evaluate[T any](browser context.Context, t *testing.T, page, expression string) T {
	t.Helper()
	if err := chromedp.Do(browser, chromedp.Navigate(page)); err != nil {
		t.Fatalf("open %s: %v", page, err)
	}
	result, err := chromedp.Run(browser, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%s: %s: %v", page, expression, err)
	}
	return result
}

// script returns the source of a call of a function with its arguments.
func script(t *testing.T, function string, args ...any) string {
	t.Helper()
	encoded := make([]string, len(args))
	for i, arg := range args {
		text, err := json.Marshal(arg)
		if err != nil {
			t.Fatal(err)
		}
		encoded[i] = string(text)
	}
	return function + "(" + strings.Join(encoded, ", ") + ")"
}

// TestClientInABrowser checks that every call of the original's client for browsers succeeds from
// another origin.
func TestClientInABrowser(t *testing.T) {
	t.Parallel()
	page := pages(t)
	browser := pagetest.Chromium(t)
	s := httpapitest.New(t, func(cfg *httpapi.Config) { cfg.Origins = []string{"https://app.example.com", page.URL} })
	api := httptest.NewServer(s.Server)
	t.Cleanup(api.Close)
	c := s.Client(t, "alice")
	got := evaluate[map[string]string](browser, t, page.URL, script(t, "useClient", api.URL+"/v3", c.Username, c.Key))
	want := map[string]string{
		"account": "alice", "shorten": "sho.rt/one", "shorten again": "1215", "mass shorten": "70 with errors: 0",
		"page": "65 of 71", "search": "1", "tags": "alpha,be ta,mass", "domains": "sho.rt default",
		"create tag": "new tag", "delete tag": "0",
		"read one": "alpha,be ta", "edit one": "n+1 & more", "reset one": "0",
		"read many": "40", "edit many": "40 with errors: 0", "reset many": "0", "delete many": "0",
		"read by tags": "10 of 30", "edit by tags": "0", "reset by tags": "0", "delete by tags": "0",
		"left":          "one n+1 & more",
		"in the domain": "0", "in another domain": "failed: 1313", "with a wrong key": "failed: 1300",
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		httpapitest.Equal(t, name, got[name], want[name])
	}
	httpapitest.Equal(t, "steps", len(got), len(want))
}

// TestOriginsInABrowser checks what a browser allows pages of a listed origin to do, and that it
// refuses this to pages of other origins.
func TestOriginsInABrowser(t *testing.T) {
	t.Parallel()
	listed, other := pages(t), pages(t)
	browser := pagetest.Chromium(t)
	s := httpapitest.New(t, func(cfg *httpapi.Config) { cfg.Origins = []string{listed.URL} })
	api := httptest.NewServer(s.Server)
	t.Cleanup(api.Close)
	c := s.Client(t, "alice")
	type outcome struct {
		Status  int
		Code    apierror.Code
		Headers map[string]string
		Kept    string
	}
	call := func(page, method, path string, headers map[string]string, body string) outcome {
		t.Helper()
		options := map[string]any{"method": method, "headers": headers}
		if body != "" {
			options["body"] = body
		}
		return evaluate[outcome](browser, t, page, script(t, "call", api.URL+path, options))
	}
	credentials := map[string]string{"X-Tinycc-User": c.Username, "X-Tinycc-Key": c.Key}
	with := func(more ...string) map[string]string {
		headers := maps.Clone(credentials)
		for i := 0; i < len(more); i += 2 {
			headers[more[i]] = more[i+1]
		}
		return headers
	}

	made := call(
		listed.URL, "POST", "/v3/urls",
		with("Content-Type", "application/json", "Idempotency-Key", "k", "X-Request-Id", "r"), httpapitest.Batch(1),
	)
	if made.Kept != "" || made.Code != apierror.CodeOK || made.Headers["x-batch-id"] == "" ||
		made.Headers["x-event-position"] == "" ||
		made.Headers["x-request-id"] != "r" {
		t.Errorf("response to a creation: %+v", made)
	}
	if got := call(
		listed.URL, "POST", "/v3/urls?hashes=none", with("X-HTTP-Method-Override", "DELETE"), "",
	); got.Kept != "" || got.Code != apierror.CodeOK {
		t.Errorf("response to an overridden method: %+v", got)
	}
	for path, want := range map[string]apierror.Code{
		"/v3/urls/none": apierror.CodeURLNotFound, "/v3/nothing": apierror.CodeInvalidResource,
	} {
		if got := call(listed.URL, "GET", path, credentials, ""); got.Kept != "" || got.Code != want {
			t.Errorf("%s: %+v", path, got)
		}
	}
	if got := call(listed.URL, "PUT", "/v3/urls", credentials, ""); got.Code != apierror.CodeMethodNotSupported ||
		got.Headers["allow"] == "" {
		t.Errorf("PUT: %+v", got)
	}
	for range httpapitest.LoginsWithReason {
		s.Stranger(t, "alice").Call("GET", "/v3/account", "", httpapitest.From("127.0.0.1:1", "x"))
	}
	if got := call(listed.URL, "GET", "/v3/account", with("X-Tinycc-Key", "wrong"), ""); got.Status != 429 ||
		got.Headers["retry-after"] == "" {
		t.Errorf("response to a throttled login: %+v", got)
	}

	if got := call(other.URL, "GET", "/v3/openapi.json", map[string]string{}, ""); got.Status != http.StatusOK {
		t.Errorf("response to the description: %+v", got)
	}
	for _, headers := range []map[string]string{{}, credentials} {
		for _, path := range []string{"/v3/account", "/v3/urls"} {
			if got := call(other.URL, "GET", path, headers, ""); got.Kept == "" {
				t.Errorf("a page of an origin that is not listed has read %s: %+v", path, got)
			}
		}
	}
	if got := call(other.URL, "POST", "/v3/urls", with("Content-Type", "application/json"), httpapitest.Batch(1)); got.Kept == "" {
		t.Errorf("a page of an origin that is not listed has created links: %+v", got)
	}
	httpapitest.Equal(t, "URLs", c.Must("GET", "/v3/urls", "").Page.TotalCount, 1)
	const ended = ".then(() => 'read', () => 'kept')"
	for page, want := range map[string]string{listed.URL: "read", "data:text/html,<title>no origin</title>": "kept"} {
		httpapitest.Equal(t, page, evaluate[string](browser, t, page, script(t, "fetch", api.URL+"/v3/urls")+ended), want)
	}
}
