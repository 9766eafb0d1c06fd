package console_test

import (
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"linkledger/commands/access"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/console"
	"linkledger/httpapi/console/page/words"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/openapi/openapitest"
	"linkledger/httpapi/pagetest"
)

// seenCalls are calls of the API that pages make.
type seenCalls struct {
	mu   sync.Mutex
	seen []string // method and path
}

// observe makes the pages of a server report their calls.
func (c *seenCalls) observe(pages *console.Handler) {
	api := pages.API
	pages.API = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		c.seen = append(c.seen, r.Method+" "+r.URL.Path)
		c.mu.Unlock()
		api.ServeHTTP(w, r)
	})
}

// take returns the calls since the last take, and forgets them.
func (c *seenCalls) take() (seen []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen, c.seen = c.seen, nil
	return seen
}

// TestConsoleMakesCallsOfTheAPI requests every page and action. Each makes calls of the API that its
// description has, an action makes one that can change something, and a page none. The linter forbids
// the console to import what would let it do more.
func TestConsoleMakesCallsOfTheAPI(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	owner := s.Client(t, "acme")
	owner.Create(`"long_url":"https://example.com/","custom_hash":"one"`)
	operations, err := openapitest.Operations()
	if err != nil {
		t.Fatal(err)
	}
	param := regexp.MustCompile(`:[a-z]+`)
	var described []string
	for name := range operations {
		described = append(described, param.ReplaceAllString(regexp.QuoteMeta(name), `[^/]+`))
	}
	isDescribed := regexp.MustCompile(`^(` + strings.Join(described, "|") + `)$`)
	var calls seenCalls
	calls.observe(s.Server.Pages())
	b := s.Browser(t)
	pages, err := console.New(console.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, route := range pages.Routes() {
		path := pagetest.ConsolePaths.Replace(route.Path)
		if forEverybody(path) || pagetest.IsFile(path) {
			continue
		}
		b.Leads("/console/sign-in", url.Values{"username": {"acme"}, "key": {owner.Key}}, "/console")
		calls.take()
		name := route.Method + " " + path
		if route.Method == http.MethodPost {
			b.Post(path, pagetest.ConsoleFields)
		} else {
			b.Call(route.Method, path, "")
		}
		seen := calls.take()
		if len(seen) == 0 || !isDescribed.MatchString(seen[0]) {
			t.Errorf("%s begins with the calls %q", name, seen)
		}
		writes := 0
		for _, call := range seen {
			if !isDescribed.MatchString(call) {
				t.Errorf("%s makes the call %s, which the API does not have", name, call)
			}
			if !strings.HasPrefix(call, "GET ") {
				writes++
			}
		}
		if writes > 0 != (route.Method == http.MethodPost) {
			t.Errorf("%s makes the calls %q", name, seen)
		}
	}
}

// TestEveryPageNeedsARole requests every page and action as a person of each role. What the console
// answers is what the API answers to the same person: a page that makes a refused call is refused.
func TestEveryPageNeedsARole(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	owner := s.Client(t, "acme")
	owner.Create(`"long_url":"https://example.com/","custom_hash":"one"`)
	pages, err := console.New(console.Config{})
	if err != nil {
		t.Fatal(err)
	}
	// The scope of the call for which each page or action is there. Everybody may have the others.
	needs := map[string]string{
		"POST /console/links": "links:create", "POST /console/new": "links:create",
		"POST /console/change": "links:write", "POST /console/links/:hash": "links:write",
		"POST /console/links/:hash/delete": "links:write", "POST /console/links/:hash/restore": "links:write",
		"POST /console/links/:hash/undo": "links:write", "POST /console/activity/undo": "links:write",
		"POST /console/tags": "tags:write", "POST /console/tags/:label/rename": "tags:write",
		"POST /console/tags/:label/delete": "tags:write", "GET /console/keys": "keys:read",
		"POST /console/keys": "keys", "POST /console/keys/:id/revoke": "keys",
		"POST /console/members": "members", "POST /console/members/:id/remove": "members",
		"GET /console/activity": "history:read", "GET /console/activity/:batch": "history:read",
		"POST /console/links/:hash/proof": "history:read", "GET /console/deleted": "history:read", "GET /console/links/:hash/proof": "history:read",
		"GET /console/proofs": "history:read", "POST /console/proofs": "history:read",
	}
	open := []string{
		"GET /console", "GET /console/links", "GET /console/links/:hash", "GET /console/new", "GET /console/tags",
		"GET /console/tags/filters", "GET /console/account", "POST /console/account", "POST /console/sign-out",
		"POST /console/sessions/:id/end",
	}
	left := maps.Clone(needs)
	for _, role := range access.Roles() {
		person, _ := s.Member(t, owner, "the "+string(role), string(role))
		scopes := access.ScopesOf(role.Terms().Scopes).Names()
		for _, route := range pages.Routes() {
			name := route.Method + " " + route.Path
			if forEverybody(route.Path) || pagetest.IsFile(route.Path) ||
				slices.Contains(open, name) {
				continue
			}
			scope, known := needs[name]
			if !known {
				t.Fatalf("%s is a new page: say here which scope it needs", name)
			}
			delete(left, name)
			may := slices.Contains(scopes, scope)
			path := pagetest.ConsolePaths.Replace(route.Path)
			if may { // nothing is changed
				path = strings.ReplaceAll(path, "/one", "/none")
			}
			fields := maps.Clone(pagetest.ConsoleFields)
			fields.Set("hash", "none")
			fields.Set("long_url", "nonsense")
			fields.Set("lines", "nonsense")
			fields.Set("previewed", pagetest.Previewed("nonsense"))
			fields.Set("name", strings.Repeat("x", 1000))
			fields.Set("label", "!")
			fields.Set("role", "nonsense")
			a := person.Call(route.Method, path, "")
			if route.Method == http.MethodPost {
				a = person.Sends(path, fields)
			}
			lacks := (a.Status == http.StatusForbidden || route.Method == http.MethodPost) && (strings.Contains(a.Body, "lacks the scope "+scope) ||
				strings.Contains(a.Body, "You may not "+words.Scope(scope)+" here"))
			if lacks == may {
				t.Errorf("%s as %s: %d\n%.2000s", name, role, a.Status, a.Body)
			}
			if route.Method == http.MethodPost {
				// A page of a sibling host is another origin of the same site.
				sibling := person.Call("POST", path, fields.Encode(), httpapitest.Header("Content-Type", "application/x-www-form-urlencoded"),
					httpapitest.Header("Origin", "http://other."+httpapitest.ShortHost), httpapitest.Header("Sec-Fetch-Site", "same-site"))
				sibling.Is(http.StatusForbidden, apierror.CodeAccessDenied)
			}
		}
	}
	if len(left) > 0 {
		t.Errorf("there are no such pages: %q", slices.Sorted(maps.Keys(left)))
	}
}
