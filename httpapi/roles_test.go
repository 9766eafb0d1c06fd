package httpapi_test

import (
	"slices"
	"strings"
	"testing"

	"linkledger/commands/access"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/openapi/openapitest"
)

// TestEveryCallNeedsARole calls every operation of the description as a person of each role, on two
// nodes. The description has exactly the routes that are served, so a new route cannot be left out.
func TestEveryCallNeedsARole(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	owner := s.Client(t, "acme")
	operations, err := openapitest.Operations()
	if err != nil {
		t.Fatal(err)
	}
	allowed := make(map[access.Role]int)
	for _, role := range access.Roles() {
		person, id := s.Member(t, owner, string(role), string(role))
		scopes := access.ScopesOf(role.Terms().Scopes).Names()
		for name, operation := range operations {
			method, path, _ := strings.Cut(name, " ")
			if operation.Scope == "" {
				continue // for every caller, or about the session, which other tests end
			}
			path = strings.ReplaceAll(path, ":id", id) // no key, batch or session has this id
			path = fillIn.Replace(path)
			if path == "/v3/members/"+id {
				path = "/v3/members/none"
			}
			may := slices.Contains(scopes, operation.Scope)
			if may {
				allowed[role]++
			}
			for node, b := range map[string]*browsertest.Browser{"first": person, "second": person.On(s.Node)} {
				if a := b.Call(method, path, ""); a.Lacks(operation.Scope) == may {
					t.Errorf("%s as %s on the %s node: %d %+v; allowed: want %t", name, role, node, a.Status, a.Error, may)
				}
			}
		}
	}
	if allowed[access.Owner] <= allowed[access.Editor] || allowed[access.Editor] <= allowed[access.Auditor] ||
		allowed[access.Auditor] <= allowed[access.Viewer] || allowed[access.Viewer] == 0 {
		t.Errorf("the roles may make %v kinds of calls", allowed)
	}
}

// TestChangedTermsHoldOnAllNodes changes the scopes of a key and the role of a person on one node,
// and calls another node right after the answer. That node gets no notifications.
func TestChangedTermsHoldOnAllNodes(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	owner := s.Client(t, "acme")
	probes := map[string]string{
		"links:read": "GET /v3/urls", "links:create": "POST /v3/urls", "links:write": "PATCH /v3/urls",
		"stats:read": "GET /v3/stats/x", "stats:reset": "DELETE /v3/stats/x", "tags:write": "DELETE /v3/tags/x",
		"history:read": "GET /v3/activity", "keys": "PATCH /v3/keys/x", "members": "DELETE /v3/members/x",
		"keys:read": "GET /v3/keys", "members:read": "GET /v3/members",
	}
	added := owner.Must("POST", "/v3/keys", `{"name":"changing"}`).Keys[0]
	user := &httpapitest.Client{T: t, Handler: s.Node, Username: owner.Username, Key: added.Key}
	for _, scope := range allScopes {
		owner.Must("PATCH", "/v3/keys/"+added.ID, `{"scopes":["`+scope+`"]}`)
		has := access.ScopesOf([]string{scope}).Names()
		for needed, probe := range probes {
			method, path, _ := strings.Cut(probe, " ")
			if a := user.Call(method, path, ""); a.Lacks(needed) == slices.Contains(has, needed) {
				t.Errorf("%s with %s: %d %+v", probe, scope, a.Status, a.Error)
			}
		}
	}
	owner.Must("PATCH", "/v3/keys/"+added.ID, `{"scopes":null,"tags":"+news"}`)
	if a := user.Call("GET", "/v3/keys", ""); a.Error.Details != apierror.ErrBound.Details {
		t.Errorf("a key that is bound by now: %d %+v", a.Status, a.Error)
	}
}
