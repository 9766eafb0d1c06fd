package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"linkledger/internal/operators/operatorstest"

	"github.com/google/uuid"

	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/console"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/openapi/openapitest"
	"linkledger/httpapi/openid/openidtest"
	"linkledger/httpapi/pagetest"
	"linkledger/httpapi/signin"
	"linkledger/queries/accountlist"
)

// failing is a site of an account with one link, whose owner has signed in.
type failing struct {
	*browsertest.Site
	owner    *httpapitest.Client
	key      accountlist.NewSession
	signedIn *browsertest.Browser
}

func newFailing(t *testing.T) *failing {
	t.Helper()
	s := browsertest.NewSite(t, "")
	owner := s.Client(t, "acme")
	key := owner.Must("GET", "/v3/keys", "").Keys[0].ID
	f := &failing{Site: s, owner: owner, key: accountlist.NewSession{Account: uuid.MustParse(owner.ID), Key: key}}
	f.signedIn = f.signIn(t)
	return f
}

func (f *failing) signIn(t *testing.T) *browsertest.Browser {
	t.Helper()
	b := f.Browser(t)
	b.Leads(f.SignInLink(t, f.key), nil, "/console")
	return b
}

// again makes the link and its tag unless they are there, and returns a browser for a request that may end its session.
func (f *failing) again(t *testing.T, route string) *browsertest.Browser {
	t.Helper()
	f.owner.Call("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"one","tags":["news"]}]}`)
	if strings.HasSuffix(route, "/session") || strings.HasSuffix(route, "/sign-out") {
		return f.signIn(t)
	}
	return f.signedIn.Copy()
}

// TestEveryCallWhenQueriesFail makes every call of the description, with a database that fails before each of its
// queries.
func TestEveryCallWhenQueriesFail(t *testing.T) {
	t.Parallel()
	s := newFailing(t)
	operations, err := openapitest.Operations()
	if err != nil {
		t.Fatal(err)
	}
	s.again(t, "")
	batch := s.owner.Must("GET", "/v3/activity", "").Activity[0].Batch
	fill := strings.NewReplacer(":hash", "one", ":label", "news", ":id", batch)
	bodies := map[string]string{
		"POST /v3/urls":        `{"urls":[{"long_url":"https://example.com/x"}]}`,
		"PATCH /v3/urls":       `{"urls":[{"hash":"one","note":"x"}]}`,
		"DELETE /v3/urls":      `{"urls":[{"hash":"one"}]}`,
		"PATCH /v3/urls/:hash": `{"urls":[{"note":"x"}]}`,
		"POST /v3/tags":        `{"label":"x"}`, "PATCH /v3/tags/:label": `{"label":"news"}`,
		"POST /v3/keys": `{"name":"x"}`, "PATCH /v3/keys/:id": `{"name":"y"}`,
		"PUT /v3/members": `{"id":"` + batch + `","role":"viewer"}`, "PATCH /v3/session": `{"account":"acme"}`,
		"POST /v3/proofs": `{"file":"x\n"}`,
	}
	for name := range operations {
		method, path, _ := strings.Cut(name, " ")
		if !strings.HasPrefix(path, "/v3/") || path == "/v3/openapi.json" || path == "/v3/docs" {
			continue // answered from the cache of visitors, or from the program
		}
		whenQueriesFail(t, name, func(failing httpapitest.With) *httpapitest.Answer {
			return s.again(t, path).Call(method, fill.Replace(path), bodies[name], failing,
				httpapitest.Header("Sec-Fetch-Site", "same-origin"), httpapitest.Header("Origin", "http://"+httpapitest.ShortHost))
		})
	}
}

// TestEveryPageWhenQueriesFail opens every page of the console and takes every action, with a database that fails
// before each of their queries.
func TestEveryPageWhenQueriesFail(t *testing.T) {
	t.Parallel()
	s := newFailing(t)
	pages, err := console.New(console.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, route := range pages.Routes() {
		if pagetest.IsFile(route.Path) || pagetest.AsksToSignIn(route) || route.Path == "/console/signed-out" || route.Path == console.SignInPath {
			continue // no query, or the cache of logins
		}
		whenQueriesFail(t, route.Method+" "+route.Path, func(failing httpapitest.With) *httpapitest.Answer {
			path := pagetest.ConsolePaths.Replace(route.Path)
			if route.Path == console.LinkPath+":secret" {
				path = s.SignInLink(t, s.key)
			}
			return open(s.again(t, path), route.Method, path, pagetest.ConsoleFields, failing)
		})
	}
}

// TestEveryPageOfOperatorsWhenQueriesFail does the same with the console of operators.
func TestEveryPageOfOperatorsWhenQueriesFail(t *testing.T) {
	t.Parallel()
	s, h := operatorstest.New(t, httpapitest.Timeout)
	stream := operatorstest.Poison(t, s)
	fields := url.Values{"stream": {stream}, "revision": {"0"}}
	for _, route := range h.Routes() {
		if pagetest.IsFile(route.Path) || pagetest.AsksToSignIn(route) {
			continue
		}
		whenQueriesFail(t, route.Method+" "+route.Path, func(failing httpapitest.With) *httpapitest.Answer {
			path := strings.Replace(route.Path, ":name", "tags", 1)
			s.SetTime(t, s.Now().Add(time.Second).Format(time.RFC3339)) // the latest of many sessions stays
			switch {
			case strings.HasSuffix(path, ":secret"):
				path = operatorstest.Link(t, s, accountlist.NewSession{Operator: true})
			case route.Method == http.MethodGet:
				path += "?" + fields.Encode()
			}
			return open(operatorstest.SignIn(t, s, h), route.Method, path, fields, failing)
		})
	}
}

// open opens a page, or takes an action, as a page of the console does.
func open(b *browsertest.Browser, method, path string, fields url.Values, failing httpapitest.With) *httpapitest.Answer {
	body := ""
	if method == http.MethodPost {
		body = fields.Encode()
	}
	return b.Call(method, path, body, failing, httpapitest.Header("Content-Type", "application/x-www-form-urlencoded"),
		httpapitest.Header("Sec-Fetch-Site", "same-origin"), httpapitest.Header("Origin", "http://"+httpapitest.ShortHost))
}

// TestSignInWhenQueriesFail comes back from the identity provider to a database that fails before each query.
func TestSignInWhenQueriesFail(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "staff=acme:editor")
	s.Client(t, "acme")
	person := openidtest.Ada
	for what, groups := range map[string][]string{"who gets a role": {"staff"}, "who loses it": nil} {
		person.Groups = groups
		visitor := 0
		whenQueriesFail(t, "the callback of somebody "+what, func(failing httpapitest.With) *httpapitest.Answer {
			b := s.Browser(t)
			visitor++ // an address has a limit of sign-ins
			from := func(r *http.Request) { r.RemoteAddr = fmt.Sprintf("192.0.2.%d:1234", visitor) }
			s.Issuer.SignIn(person)
			begun := b.Call("GET", signin.BeginPath, "", from)
			return b.Call("GET", openidtest.Visit(t, nil, begun.Header.Get("Location")).RequestURI(), "", failing, from)
		})
	}
}

// mostQueries is more than any request makes.
const mostQueries = 60

// whenQueriesFail sends a request again and again. Each time one query more succeeds before the database fails. It
// checks that the first failure makes the service unavailable, that no answer blames the server itself, and that none
// tells the cause.
func whenQueriesFail(t *testing.T, name string, request func(httpapitest.With) *httpapitest.Answer) {
	t.Helper()
	for left := range int64(mostQueries) {
		var f httpapitest.Failure
		f.Left.Store(left)
		a := request(f.In)
		wrong := a.Status >= http.StatusInternalServerError && a.Status != http.StatusServiceUnavailable
		if left == 0 {
			wrong = a.Status != http.StatusServiceUnavailable
		}
		if wrong || a.Status >= http.StatusBadRequest && strings.Contains(a.Body, context.Canceled.Error()) {
			t.Errorf("%s answers %d when the database fails after %d queries\n%s", name, a.Status, left, a.Body)
		}
		if !f.Failed.Load() {
			return
		}
	}
	t.Errorf("%s makes %d queries", name, mostQueries)
}
