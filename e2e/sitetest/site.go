// Package sitetest gives tests an installation where people sign in.
package sitetest

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"linkledger/e2e/e2etest"
	"linkledger/e2e/installtest"
	"linkledger/httpapi/openid/openidtest"
	"linkledger/httpapi/signin"
)

const (
	siteHost   = "sho.rt"
	siteCookie = "__Host-linkledger"
)

// SiteURL is the base URL of both services.
const SiteURL = "https://" + siteHost

// ClientSecret is the secret of the site at its issuer.
const ClientSecret = "a secret of the client: for tests"

// NoSession is the error code of a call without a session.
const NoSession = 1300.0

// Site is an installation where people sign in. Two services have one base URL, as behind a load
// balancer that ends TLS.
type Site struct {
	*installtest.Installation

	T      *testing.T // the scenario that runs
	Issuer *openidtest.Issuer
	Nodes  []*installtest.Node
	Ways   []*http.Client // to the nodes, without cookies
	Asking *sync.Mutex    // the issuer signs in one person at a time
	Opened *atomic.Uint32 // number of browsers so far
}

// Browser keeps cookies. Each browser has an address of its own, because sign-ins are throttled by
// address.
type Browser struct {
	*Site

	jar     *cookiejar.Jar
	address string
}

// Browser returns a browser without cookies.
func (s *Site) Browser() *Browser {
	jar, _ := cookiejar.New(nil) // never fails
	n := s.Opened.Add(1)
	return &Browser{s, jar, fmt.Sprintf("198.18.%d.%d", n/256, n%256)}
}

// open opens a page through a node and returns the address that the page redirects to.
func (b *Browser) open(node int, path string) (location string, err error) {
	client := *b.Ways[node]
	client.Jar = b.jar
	request, err := http.NewRequestWithContext(b.T.Context(), http.MethodGet, SiteURL+path, nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("X-Forwarded-For", b.address)
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusSeeOther {
		err = fmt.Errorf("GET %s answers %s", path, response.Status)
	}
	return response.Header.Get("Location"), errors.Join(err, response.Body.Close())
}

// SignIn signs a person in. The sign-in begins at one node and ends at another one.
func (b *Browser) SignIn(begin, end int, person openidtest.Person) (SignedIn, error) {
	location, err := b.open(begin, signin.BeginPath+"?return=/console/links")
	if err != nil {
		return SignedIn{}, err
	}
	b.Asking.Lock()
	b.Issuer.SignIn(person)
	back := openidtest.Visit(b.T, nil, location)
	b.Asking.Unlock()
	if location, err = b.open(end, back.RequestURI()); err != nil {
		return SignedIn{}, err
	}
	cookies := b.jar.Cookies(&url.URL{Scheme: "https", Host: siteHost, Path: "/"})
	i := slices.IndexFunc(cookies, func(c *http.Cookie) bool { return c.Name == siteCookie })
	if location != "/console/links" || i < 0 {
		return SignedIn{}, fmt.Errorf("the sign-in leads to %s, with the cookies %v", location, cookies)
	}
	in := SignedIn{Site: b.Site, Cookie: cookies[i]}
	answer, err := in.Call(end, "GET", "/session", "")
	if err == nil {
		in.Session = answer["session"].(map[string]any)
		in.ID = in.Session["user"].(string)
	}
	return in, err
}

// SignIn signs a person in with a new browser. The sign-in must succeed.
func (s *Site) SignIn(person openidtest.Person) SignedIn {
	s.T.Helper()
	in, err := s.Browser().SignIn(0, 1, person)
	if err != nil {
		s.T.Fatal(err)
	}
	return in
}

// Person returns a person in groups of the issuer.
func Person(subject, name string, groups ...string) openidtest.Person {
	return openidtest.Person{Subject: subject, Name: name, Mail: subject + "@example.com", Groups: groups}
}

// SignedIn is a person with a session. It keeps the cookie of the sign-in, also after a service has
// ended the session.
type SignedIn struct {
	*Site

	Cookie  *http.Cookie
	ID      string         // of the person
	Session map[string]any // as the API described it after the sign-in
}

// Call sends an API request with the cookie, as a page of the site would.
func (in SignedIn) Call(node int, method, path, body string) (map[string]any, error) {
	request, err := http.NewRequestWithContext(in.T.Context(), method, SiteURL+"/v3"+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Origin", SiteURL)
	request.AddCookie(in.Cookie)
	return e2etest.AnswerThrough(in.Ways[node], request)
}

// Must sends an API request, which must succeed.
func (in SignedIn) Must(node int, method, path, body string) map[string]any {
	in.T.Helper()
	answer, err := in.Call(node, method, path, body)
	if err != nil {
		in.T.Fatal(err)
	}
	return answer
}

// Refused checks that a call fails with a code.
func (in SignedIn) Refused(code float64, node int, method, path, body string) {
	in.T.Helper()
	answer, err := in.Call(node, method, path, body)
	if err == nil || answer == nil || answer["error"].(map[string]any)["code"] != code {
		in.T.Errorf("%s %s through node %d: %v, %v; want the code %v", method, path, node, answer, err, code)
	}
}

// CreateLink returns the body of a call that creates a link.
func CreateLink(hash string) string {
	return fmt.Sprintf(`{"urls":[{"long_url":"https://example.com/","custom_hash":%q}]}`, hash)
}
