package httpapitest

// This file sends requests to the handler.

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"linkledger/httpapi/openapi/openapitest"
)

// FormType is the type of a body that a page sends.
const FormType = "application/x-www-form-urlencoded"

// Forwarded sets X-Forwarded-For to the addresses that a request came through, as proxies do.
func Forwarded(hops string) With { return Header("X-Forwarded-For", hops) }

// Visit follows a link. The user agent is a person's, unless changes replace it.
func (s *Stack) Visit(t testing.TB, method, path string, changes ...With) *Answer {
	t.Helper()
	return Send(t, s.Server, method, path, "", append([]With{Header("User-Agent", Lynx)}, changes...)...)
}

// With changes a request before it is sent.
type With func(*http.Request)

// Header sets a header.
func Header(name, value string) With { return func(r *http.Request) { r.Header.Set(name, value) } }

// From sets the address and the user agent of the caller.
func From(address, userAgent string) With {
	return func(r *http.Request) {
		r.RemoteAddr = address
		r.Header.Set("User-Agent", userAgent)
	}
}

// Send sends a request. It compares an answer of the API with the OpenAPI description.
func Send(t testing.TB, handler http.Handler, method, path, body string, changes ...With) *Answer {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "http://"+ShortHost, strings.NewReader(body))
	var err error
	if r.URL, err = url.Parse("http://" + ShortHost + path); err != nil {
		t.Fatal(err)
	}
	if body == "" {
		r.Body, r.ContentLength = http.NoBody, 0
	}
	for _, change := range changes {
		change(r)
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, r)
	a := AnswerOf(t, recorder.Result())
	if meant := r.Header.Get("X-HTTP-Method-Override"); meant != "" && method == http.MethodPost {
		method = strings.ToUpper(meant)
	}
	if strings.HasPrefix(r.URL.Path, "/v3/") && method != http.MethodHead &&
		strings.HasPrefix(a.Header.Get("Content-Type"), "application/json") {
		openapitest.Exchange{
			Request: r, Method: method, Body: body, Status: a.Status, Answer: a.Body, Refused: a.refused(),
		}.Check(t)
	}
	return a
}

// Batch returns a body with n items.
func Batch(n int) string {
	items := make([]string, n)
	for i := range items {
		items[i] = `{"long_url":"https://example.com/` + strconv.Itoa(i) + `"}`
	}
	return `{"urls":[` + strings.Join(items, ",") + `]}`
}

// User agents that people have.
const (
	IPhone = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) " +
		"Version/17.0 Mobile/15E148 Safari/604.1"
	Lynx    = "Lynx/2.9" // a person's, without known browser, system and device
	Firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:120.0) Gecko/20100101 Firefox/120.0"
)
