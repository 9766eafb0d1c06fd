package httpapi

import (
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/decode"
	"linkledger/httpapi/openapi"
	"linkledger/httpapi/openapi/openapitest"
	"linkledger/httpapi/redirect"
	"linkledger/httpapi/request"
	v3 "linkledger/httpapi/v3"
)

// conforms checks a response against the description of its call. If the call succeeded, it also
// checks that the description allows the call.
func (a *answer) conforms(r *http.Request, method, body string) {
	a.t.Helper()
	name := "Envelope"
	if a.status == http.StatusOK && method != http.MethodOptions {
		known, err := openapitest.Operations()
		if err != nil {
			a.t.Fatal(err)
		}
		operation, ok := known[method+" "+routeOf(r.URL.EscapedPath())]
		if !ok {
			a.t.Fatalf("%s %s is not described", method, r.URL.Path)
		}
		a.allowed(operation, r, strings.TrimPrefix(body, "\ufeff"))
		if name = operation.Answer; name == "" {
			return // a document
		}
	}
	if err := openapitest.Validate(a.t, name, a.body); err != nil {
		a.t.Errorf("%s %s returned %d and no valid %s: %v\n%s", method, r.URL.Path, a.status, name, err, a.body)
	}
}

// allowed checks a successful call against the description of its operation. It does not check
// bodies with refused items.
func (a *answer) allowed(operation openapi.Operation, r *http.Request, body string) {
	a.t.Helper()
	query, err := decode.Query(&request.Context{Request: r})
	if err != nil {
		a.t.Fatal(err)
	}
	pointers, err := openapitest.ParameterPointers()
	if err != nil {
		a.t.Fatal(err)
	}
	segments := strings.Split(r.URL.Path, "/")
	for i, p := range operation.Parameters {
		var value string
		switch p.In {
		case "path":
			value = segments[3]
		case "query":
			value = query.Get(p.Name)
		case "header":
			value = r.Header.Get(p.Name)
		}
		schema := openapitest.Schema(a.t, pointers[operation.Method+" "+operation.Path][i])
		// An empty value counts as absent.
		if value != "" && schema.Validate(value) != nil && schema.Validate(json.Number(value)) != nil {
			a.t.Errorf("%s %s succeeded, but the description does not allow its value of %s", r.Method, r.URL, p.Name)
		}
	}
	refused := slices.ContainsFunc(
		a.URLs, func(i item) bool { return i.Error != nil && i.code() != apierror.CodeOK },
	)
	if operation.Body == "" || body == "" || refused || r.Header.Get("Content-Type") != "application/json" {
		return
	}
	if err := openapitest.Validate(a.t, operation.Body, body); err != nil {
		a.t.Errorf("%s %s succeeded, but its body is no valid %s: %v\n%s", r.Method, r.URL, operation.Body, err, body)
	}
}

// routeOf returns the route pattern of a path under /v3.
func routeOf(path string) string {
	segments := strings.Split(strings.TrimSuffix(strings.TrimPrefix(path, "/"), "/"), "/")
	if len(segments) >= 3 {
		segments[2] = map[string]string{
			"tags": ":label", "batches": ":id", "keys": ":id", "members": ":id", "sessions": ":id",
		}[segments[1]]
		if segments[2] == "" {
			segments[2] = ":hash"
		}
	}
	return "/" + strings.Join(segments, "/")
}

func TestDescriptionHasEveryRoute(t *testing.T) {
	t.Parallel()
	known, err := openapitest.Operations()
	if err != nil {
		t.Fatal(err)
	}
	docs, err := openapi.Routes()
	if err != nil {
		t.Fatal(err)
	}
	var served []string
	for _, r := range slices.Concat((&v3.API{}).Routes(), docs, (&redirect.Handler{}).Routes()) {
		served = append(served, r.Method+" "+r.Path)
	}
	slices.Sort(served)
	if described := slices.Sorted(maps.Keys(known)); !slices.Equal(served, described) {
		t.Errorf("served are\n%v\ndescribed\n%v", served, described)
	}
	for route, operation := range known {
		for _, name := range []string{operation.Body, operation.Answer} {
			if name != "" {
				openapitest.SchemaOf(t, name)
			}
		}
		if operation.Summary == "" ||
			slices.ContainsFunc(operation.Parameters, func(p openapi.Parameter) bool { return p.Description == "" }) {
			t.Errorf("%s is described badly: %+v", route, operation)
		}
	}
}

// TestDescribedPayloads checks that the description allows the payloads of the API's own tests, and
// no invalid ones.
func TestDescribedPayloads(t *testing.T) {
	t.Parallel()
	for body, name := range map[string]string{
		batch(50): "NewURLs",
		`{"urls":[{"long_url":"https://example.com/","custom_hash":null,"tags":["a"],"expiration_date":"2026-01-31","max_clicks":1}]}`: "NewURLs",
		`{"urls":[{"long_url":"https://example.com/","custom_hash":""}]}`:                                                              "NewURLs", `{"urls":[{}]}`: "OneURLEdit",
		`{"urls":[{"hash":"a","note":null,"tags":["+a","-b"],"expiration_date":null,"protected":true}]}`: "URLEdits",
		`{"label":"a"}`: "TagPayload",
	} {
		if err := openapitest.Validate(t, name, body); err != nil {
			t.Errorf("%s is not a valid %s: %v", body, name, err)
		}
	}
	for body, name := range map[string]string{
		batch(51): "NewURLs", `{"urls":[]}`: "NewURLs", `{"urls":[],"x":1}`: "URLEdits",
		`{"urls":[{},{}]}`:              "OneURLEdit",
		`{"urls":[{"custom_hash":""}]}`: "URLEdits", `{"verson":1}`: "Restoration",
		`{"urls":[{"note":"x"}]}`: "NewURLs", `{"urls":[{"note":5}]}`: "URLEdits",
		`{"urls":[{"custom_hash":"a b"}]}`: "URLEdits", `{}`: "TagPayload",
	} {
		if openapitest.Validate(t, name, body) == nil {
			t.Errorf("%s is a valid %s", body, name)
		}
	}
}

func TestDocsNeedNoCredentials(t *testing.T) {
	t.Parallel()
	handler, err := New(newStackless())
	if err != nil {
		t.Fatal(err)
	}
	a := send(t, handler, "GET", "/v3/openapi.json", "")
	equal(t, "status", a.status, http.StatusOK)
	equal(t, "description", a.body, string(openapi.Source()))
	page := send(t, handler, "GET", "/v3/docs/", "")
	equal(t, "status", page.status, http.StatusOK)
	equal(t, "type", page.header.Get("Content-Type"), "text/html; charset=utf-8")
	for _, want := range []string{
		"PATCH /v3/urls/{hash}", "Idempotency-Key", `id="URLsAnswer"`, "array of URL or FailedURL", "Status 404. ",
		"As a form:",
		"Answer 200: Both are created", "&#34;custom_hash&#34;: &#34;autumn-sale&#34;",
		"--data-urlencode &#39;urls[0][tags][0]=news&#39;",
		"curl -u &#34;$ACCOUNT:$API_KEY&#34; &#34;$SERVICE/v3/urls/spring-sale&#34; \\\n  -X PATCH",
		"&#39;X-HTTP-Method-Override: PATCH&#39;", "&#39;X-HTTP-Method-Override: PUT&#39;",
		"curl -b &#34;linkledger=$SESSION&#34; &#34;$SERVICE/v3/session&#34;", "Needs a session.",
	} {
		if !strings.Contains(page.body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, foreign := range []string{`href="http`, `href="/`, "url(", "@import", "src=", "<link", "<script"} {
		if strings.Contains(page.body, foreign) {
			t.Errorf("the page has %q", foreign)
		}
	}
	ids := make(map[string]bool)
	for _, id := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(page.body, -1) {
		if ids[id[1]] || strings.Contains(id[1], " ") {
			t.Errorf("the id %q is not unique, or has a space", id[1])
		}
		ids[id[1]] = true
	}
	for _, link := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(page.body, -1) {
		if !ids[link[1]] {
			t.Errorf("the link to %q leads nowhere", link[1])
		}
	}
	last := 0
	for _, section := range []string{
		"Account", "URLs", "Stats", "Tags", "Keys", "Members", "Sessions", "Domains", "History", "Short links", "Description", "Errors", "Schemas",
	} {
		at := strings.Index(page.body, `<h2 id="section-`+strings.ReplaceAll(section, " ", "-")+`">`)
		if at < last {
			t.Errorf("the section %s is at %d, the previous one at %d", section, at, last)
		}
		last = at
	}
	send(t, handler, "POST", "/v3/docs", "").is(http.StatusMethodNotAllowed, apierror.CodeMethodNotSupported)
}
