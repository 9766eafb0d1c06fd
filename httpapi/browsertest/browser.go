// Package browsertest opens pages and sends forms as a browser without scripts does, and signs people in. It is for
// tests only.
package browsertest

// This file opens pages and sends forms as a browser without scripts does.

import (
	"errors"
	"html"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/httpapitest"
)

// Post sends a form as a page of the console does.
func (b *Browser) Post(path string, fields url.Values) *httpapitest.Answer {
	b.T.Helper()
	return b.Call("POST", path, fields.Encode(), httpapitest.Header("Content-Type", "application/x-www-form-urlencoded"),
		httpapitest.Header("Sec-Fetch-Site", "same-origin"), httpapitest.Header("Origin", "http://"+httpapitest.ShortHost))
}

// Upload sends a file to the page that checks proofs.
func (b *Browser) Upload(file string) *httpapitest.Answer {
	b.T.Helper()
	var body strings.Builder
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", "a.proof")
	if err == nil {
		_, err = part.Write([]byte(file))
	}
	if err := errors.Join(err, form.Close()); err != nil {
		b.T.Fatal(err)
	}
	return b.Follow(b.Call("POST", "/console/proofs", body.String(), httpapitest.Header("Content-Type", form.FormDataContentType()),
		httpapitest.Header("Sec-Fetch-Site", "same-origin"), httpapitest.Header("Origin", "http://"+httpapitest.ShortHost)))
}

// Leads sends a form and checks which address the answer redirects to. It also checks that the form
// is not refused.
func (b *Browser) Leads(path string, fields url.Values, want string) {
	b.T.Helper()
	a := b.Post(path, fields)
	if to := WithoutAnswer(a.Header.Get("Location")); a.Status != http.StatusSeeOther || to != want {
		b.T.Fatalf("%s answers %d, leads to %q; want %q\n%s", path, a.Status, to, want, a.Body)
	}
	if !answerName.MatchString(a.Header.Get("Location")) {
		return
	}
	if shown := b.Follow(a); strings.Contains(shown.Body, `role="alert"`) {
		b.T.Errorf("%s is refused\n%s", path, shown.Body)
	}
}

var answerName = regexp.MustCompile(`[?&]answer=[^&#]*`)

// WithoutAnswer returns an address of the console without the name of the answer to a form.
func WithoutAnswer(address string) string { return answerName.ReplaceAllString(address, "") }

// Follow opens the page that the answer to a form redirects to.
func (b *Browser) Follow(a *httpapitest.Answer) *httpapitest.Answer {
	b.T.Helper()
	if a.Status != http.StatusSeeOther {
		b.T.Fatalf("a form answers %d\n%s", a.Status, a.Body)
	}
	return b.Call("GET", a.Header.Get("Location"), "", httpapitest.Header("Accept", "text/html"))
}

// Sends sends a form and returns the page that the answer redirects to.
func (b *Browser) Sends(path string, fields url.Values) *httpapitest.Answer {
	b.T.Helper()
	return b.Follow(b.Post(path, fields))
}

// Refuses sends a form. It checks that the form is refused, and that the page that follows has all
// parts.
func (b *Browser) Refuses(path string, fields url.Values, parts ...string) *httpapitest.Answer {
	b.T.Helper()
	a := b.Sends(path, fields)
	text := TextOf(a.Body)
	for _, part := range append(parts, `role="alert"`) {
		if !strings.Contains(text, part) {
			b.T.Errorf("%s with %v does not show %q\n%s", path, fields, part, a.Body)
		}
	}
	return a
}

// Makes previews the links of pasted lines, and then makes the links.
func (b *Browser) Makes(lines string) *httpapitest.Answer {
	b.T.Helper()
	seen := b.Sends("/console/new", url.Values{"lines": {lines}})
	previewed := regexp.MustCompile(`name="previewed" value="([0-9a-f]{16})"`).FindStringSubmatch(seen.Body)
	if previewed == nil {
		return seen
	}
	return b.Sends("/console/new", url.Values{"lines": {lines}, "previewed": {previewed[1]}})
}

var numberElement = regexp.MustCompile(`</?data[^>]*>`)

// TextOf returns the HTML of a page with its escapes decoded, and without the tags around numbers.
func TextOf(body string) string { return html.UnescapeString(numberElement.ReplaceAllString(body, "")) }

// Shows opens a page and checks that its text has all parts.
func (b *Browser) Shows(path string, parts ...string) string {
	b.T.Helper()
	a := b.Call("GET", path, "")
	if a.Status != http.StatusOK || a.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		b.T.Fatalf("%s answers %d %v\n%s", path, a.Status, a.Header, a.Body)
	}
	text := TextOf(a.Body)
	for _, part := range parts {
		if !strings.Contains(text, part) {
			b.T.Errorf("%s does not show %q\n%s", path, part, a.Body)
		}
	}
	return a.Body
}

// ShowsSoon opens a page again and again until it shows a text.
func (b *Browser) ShowsSoon(path, part string) {
	b.T.Helper()
	for ctx := httpapitest.WithTimeout(b.T); ; {
		a := b.Call("GET", path, "")
		if text := TextOf(a.Body); a.Status == http.StatusOK && strings.Contains(text, part) {
			return
		}
		if ctx.Err() != nil {
			b.T.Fatalf("%s never shows %q\n%s", path, part, a.Body)
		}
	}
}

// Browser sends requests as a browser does, and keeps the cookies of the answers.
type Browser struct {
	T       testing.TB
	Handler http.Handler
	Cookies map[string]*http.Cookie
}

// NewBrowser returns a browser without cookies.
func NewBrowser(t testing.TB, handler http.Handler) *Browser {
	t.Helper()
	return &Browser{t, handler, make(map[string]*http.Cookie)}
}

// Copy returns another browser with a copy of the cookies.
func (b *Browser) Copy() *Browser { return &Browser{b.T, b.Handler, maps.Clone(b.Cookies)} }

// On returns the browser at another node. The two share their cookies from then on.
func (b *Browser) On(node http.Handler) *Browser { return &Browser{b.T, node, b.Cookies} }

// Call sends a request with the cookies of the browser, and keeps the cookies of the answer.
func (b *Browser) Call(method, path, body string, changes ...httpapitest.With) *httpapitest.Answer {
	b.T.Helper()
	changes = append([]httpapitest.With{httpapitest.Header("Content-Type", "application/json"), httpapitest.Header("Accept", "application/json"), func(r *http.Request) {
		for _, cookie := range b.Cookies {
			r.AddCookie(cookie)
		}
	}}, changes...)
	a := httpapitest.Send(b.T, b.Handler, method, path, body, changes...)
	for _, cookie := range (&http.Response{Header: a.Header}).Cookies() {
		if cookie.MaxAge < 0 {
			delete(b.Cookies, cookie.Name)
		} else {
			b.Cookies[cookie.Name] = cookie
		}
	}
	return a
}

// Must makes a call and fails the test if the call fails.
func (b *Browser) Must(method, path, body string) *httpapitest.Answer {
	b.T.Helper()
	a := b.Call(method, path, body)
	a.Is(http.StatusOK, apierror.CodeOK)
	return a
}

// Ended checks that the browser has no session any more.
func (b *Browser) Ended() {
	b.T.Helper()
	b.Call("GET", "/v3/session", "").Is(http.StatusBadRequest, apierror.CodeInvalidKey)
}

// SignInBy signs a browser in with the API key of a client.
func (b *Browser) SignInBy(c *httpapitest.Client) contract.Session {
	b.T.Helper()
	a := b.Call("POST", "/v3/sessions", "", func(r *http.Request) { r.SetBasicAuth(c.Username, c.Key) })
	a.Is(http.StatusOK, apierror.CodeOK)
	return a.Sessions[0]
}
