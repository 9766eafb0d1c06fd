package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/httpapi/console"
	"linkledger/httpapi/openapi/openapitest"
	"linkledger/httpapi/openid/openidtest"
	"linkledger/httpapi/router"
	"linkledger/httpapi/signin"
	"linkledger/queries/accountlist"
)

// failure makes the queries of a request fail, but for the first ones.
type failure struct {
	left   atomic.Int64 // queries that succeed
	failed atomic.Bool
}

type failureKey struct{}

// in adds the failure to a request.
func (f *failure) in(r *http.Request) {
	*r = *r.WithContext(context.WithValue(r.Context(), failureKey{}, f))
}

// failQuery returns a context that is at its end if a query is to fail.
func failQuery(ctx context.Context) context.Context {
	f, ok := ctx.Value(failureKey{}).(*failure)
	if !ok || f.left.Add(-1) >= 0 {
		return ctx
	}
	f.failed.Store(true)
	ended, end := context.WithCancel(ctx)
	end()
	return ended
}

// mostQueries is more than any request makes.
const mostQueries = 60

// whenQueriesFail sends a request again and again. Each time one query more succeeds before the database fails. It
// checks that the first failure makes the service unavailable, that no answer blames the server itself, and that none
// tells the cause.
func whenQueriesFail(t *testing.T, name string, request func(with) *answer) {
	t.Helper()
	for left := range int64(mostQueries) {
		var f failure
		f.left.Store(left)
		a := request(f.in)
		wrong := a.status >= http.StatusInternalServerError && a.status != http.StatusServiceUnavailable
		if left == 0 {
			wrong = a.status != http.StatusServiceUnavailable
		}
		if wrong || a.status >= http.StatusBadRequest && strings.Contains(a.body, context.Canceled.Error()) {
			t.Errorf("%s answers %d when the database fails after %d queries\n%s", name, a.status, left, a.body)
		}
		if !f.failed.Load() {
			return
		}
	}
	t.Errorf("%s makes %d queries", name, mostQueries)
}

// failing is a site of an account with one link, whose owner has signed in.
type failing struct {
	*site
	owner    *client
	key      accountlist.NewSession
	signedIn *browser
}

func newFailing(t *testing.T) *failing {
	t.Helper()
	s := newSite(t, "")
	owner := s.client(t, "acme")
	key := owner.must("GET", "/v3/keys", "").Keys[0].ID
	f := &failing{site: s, owner: owner, key: accountlist.NewSession{Account: uuid.MustParse(owner.id), Key: key}}
	f.signedIn = f.signIn(t)
	return f
}

func (f *failing) signIn(t *testing.T) *browser {
	t.Helper()
	b := f.browser(t)
	b.leads(f.signInLink(t, f.key), nil, "/console")
	return b
}

// again makes the link and its tag unless they are there, and returns a browser for a request that may end its session.
func (f *failing) again(t *testing.T, route string) *browser {
	t.Helper()
	f.owner.call("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"one","tags":["news"]}]}`)
	if strings.HasSuffix(route, "/session") || strings.HasSuffix(route, "/sign-out") {
		return f.signIn(t)
	}
	return f.signedIn.copy()
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
	batch := s.owner.must("GET", "/v3/activity", "").Activity[0].Batch
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
		whenQueriesFail(t, name, func(failing with) *answer {
			return s.again(t, path).call(method, fill.Replace(path), bodies[name], failing,
				header("Sec-Fetch-Site", "same-origin"), header("Origin", "http://"+shortHost))
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
		if isFile(route.Path) || isOpen(route) || route.Path == "/console/signed-out" || route.Path == console.SignInPath {
			continue // no query, or the cache of logins
		}
		whenQueriesFail(t, route.Method+" "+route.Path, func(failing with) *answer {
			path := consolePaths.Replace(route.Path)
			if route.Path == console.LinkPath+":secret" {
				path = s.signInLink(t, s.key)
			}
			return open(s.again(t, path), route.Method, path, consoleFields, failing)
		})
	}
}

// TestEveryPageOfOperatorsWhenQueriesFail does the same with the console of operators.
func TestEveryPageOfOperatorsWhenQueriesFail(t *testing.T) {
	t.Parallel()
	s, h := newOperators(t, testTimeout)
	stream := s.poison(t)
	fields := url.Values{"stream": {stream}, "revision": {"0"}}
	for _, route := range h.Routes() {
		if isFile(route.Path) || isOpen(route) {
			continue
		}
		whenQueriesFail(t, route.Method+" "+route.Path, func(failing with) *answer {
			path := strings.Replace(route.Path, ":name", "tags", 1)
			s.at(t, s.now.Load().Add(time.Second).Format(time.RFC3339)) // the latest of many sessions stays
			switch {
			case strings.HasSuffix(path, ":secret"):
				path = s.operatorLink(t, accountlist.NewSession{Operator: true})
			case route.Method == http.MethodGet:
				path += "?" + fields.Encode()
			}
			return open(s.operator(t, h), route.Method, path, fields, failing)
		})
	}
}

// isOpen reports whether a route leads to a page that asks to sign in. Such a page shows nothing that is stored.
func isOpen(route router.Route) bool {
	return route.Method == http.MethodGet && strings.HasPrefix(route.Path, console.SignInPath)
}

// open opens a page, or takes an action, as a page of the console does.
func open(b *browser, method, path string, fields url.Values, failing with) *answer {
	body := ""
	if method == http.MethodPost {
		body = fields.Encode()
	}
	return b.call(method, path, body, failing, header("Content-Type", "application/x-www-form-urlencoded"),
		header("Sec-Fetch-Site", "same-origin"), header("Origin", "http://"+shortHost))
}

// TestSignInWhenQueriesFail comes back from the identity provider to a database that fails before each query.
func TestSignInWhenQueriesFail(t *testing.T) {
	t.Parallel()
	s := newSite(t, "staff=acme:editor")
	s.client(t, "acme")
	person := openidtest.Ada
	for what, groups := range map[string][]string{"who gets a role": {"staff"}, "who loses it": nil} {
		person.Groups = groups
		visitor := 0
		whenQueriesFail(t, "the callback of somebody "+what, func(failing with) *answer {
			b := s.browser(t)
			visitor++ // an address has a limit of sign-ins
			from := func(r *http.Request) { r.RemoteAddr = fmt.Sprintf("192.0.2.%d:1234", visitor) }
			s.issuer.SignIn(person)
			begun := b.call("GET", signin.BeginPath, "", from)
			return b.call("GET", openidtest.Visit(t, nil, begun.header.Get("Location")).RequestURI(), "", failing, from)
		})
	}
}
