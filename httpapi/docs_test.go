package httpapi_test

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"linkledger/httpapi"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/openapi"
	"linkledger/httpapi/openapi/openapitest"
	"linkledger/httpapi/redirect"
	v3 "linkledger/httpapi/v3"
)

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
		httpapitest.Batch(50): "NewURLs",
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
		httpapitest.Batch(51): "NewURLs", `{"urls":[]}`: "NewURLs", `{"urls":[],"x":1}`: "URLEdits",
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
	handler, err := httpapi.New(httpapitest.Bare())
	if err != nil {
		t.Fatal(err)
	}
	a := httpapitest.Send(t, handler, "GET", "/v3/openapi.json", "")
	httpapitest.Equal(t, "status", a.Status, http.StatusOK)
	httpapitest.Equal(t, "description", a.Body, string(openapi.Source()))
	page := httpapitest.Send(t, handler, "GET", "/v3/docs/", "")
	httpapitest.Equal(t, "status", page.Status, http.StatusOK)
	httpapitest.Equal(t, "type", page.Header.Get("Content-Type"), "text/html; charset=utf-8")
	for _, want := range []string{
		"PATCH /v3/urls/{hash}", "Idempotency-Key", `id="URLsAnswer"`, "array of URL or FailedURL", "Status 404. ",
		"As a form:",
		"Answer 200: Both are created", "&#34;custom_hash&#34;: &#34;autumn-sale&#34;",
		"--data-urlencode &#39;urls[0][tags][0]=news&#39;",
		"curl -u &#34;$ACCOUNT:$API_KEY&#34; &#34;$SERVICE/v3/urls/spring-sale&#34; \\\n  -X PATCH",
		"&#39;X-HTTP-Method-Override: PATCH&#39;", "&#39;X-HTTP-Method-Override: PUT&#39;",
		"curl -b &#34;linkledger=$SESSION&#34; &#34;$SERVICE/v3/session&#34;", "Needs a session.",
	} {
		if !strings.Contains(page.Body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, foreign := range []string{`href="http`, `href="/`, "url(", "@import", "src=", "<link", "<script"} {
		if strings.Contains(page.Body, foreign) {
			t.Errorf("the page has %q", foreign)
		}
	}
	ids := make(map[string]bool)
	for _, id := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(page.Body, -1) {
		if ids[id[1]] || strings.Contains(id[1], " ") {
			t.Errorf("the id %q is not unique, or has a space", id[1])
		}
		ids[id[1]] = true
	}
	for _, link := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(page.Body, -1) {
		if !ids[link[1]] {
			t.Errorf("the link to %q leads nowhere", link[1])
		}
	}
	last := 0
	for _, section := range []string{
		"Account", "URLs", "Stats", "Tags", "Keys", "Members", "Sessions", "Domains", "History", "Short links", "Description", "Errors", "Schemas",
	} {
		at := strings.Index(page.Body, `<h2 id="section-`+strings.ReplaceAll(section, " ", "-")+`">`)
		if at < last {
			t.Errorf("the section %s is at %d, the previous one at %d", section, at, last)
		}
		last = at
	}
	httpapitest.Send(t, handler, "POST", "/v3/docs", "").Is(http.StatusMethodNotAllowed, apierror.CodeMethodNotSupported)
}
