package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/openapi/openapitest"
)

var allScopes = []string{
	"links:read", "links:create", "links:write", "stats:read", "stats:reset", "tags:write", "history:read", "keys",
	"members", "keys:read", "members:read",
}

// impliedScopes are the scopes that come with others.
var impliedScopes = map[string]string{"keys": "keys:read", "members": "members:read"}

var fillIn = strings.NewReplacer(
	":hash", "none", ":label", "none", ":id", "0c9c1d2e-6a0f-4f55-9b3a-2f1c8f6f1a10",
)

// TestEveryCallNeedsItsScope calls every operation of the description with a key of each scope, bound
// to tags and not, on two nodes. The description has exactly the routes that are served, see
// TestDescriptionHasEveryRoute, so a new route cannot be left out. TestEveryCallNeedsARole does the
// same with people.
func TestEveryCallNeedsItsScope(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	owner := s.Client(t, "owner")
	clients := map[string]*httpapitest.Client{"": owner}
	bound := map[string]*httpapitest.Client{"": owner.WithKey(`"tags":"+news"`)}
	for _, scope := range allScopes {
		clients[scope] = owner.WithKey(`"scopes":["` + scope + `"]`)
		bound[scope] = owner.WithKey(`"tags":"+news","scopes":["` + scope + `"]`)
	}
	operations, err := openapitest.Operations()
	if err != nil {
		t.Fatal(err)
	}
	needed := make(map[string]bool)
	for name, operation := range operations {
		method, path, _ := strings.Cut(name, " ")
		if !strings.HasPrefix(path, "/v3/") || path == "/v3/openapi.json" || path == "/v3/docs" {
			continue // visitors and readers of the description have no key
		}
		path = fillIn.Replace(path)
		needed[operation.Scope] = true
		for scope := range clients {
			lacks := operation.Scope != "" && scope != "" && scope != operation.Scope &&
				impliedScopes[scope] != operation.Scope
			for node, handler := range map[string]http.Handler{"first": s.Server, "second": s.Node} {
				what := fmt.Sprintf("%s with a key of %q on the %s node", name, scope, node)
				a := clients[scope].On(handler).Call(method, path, "")
				if a.Lacks(operation.Scope) != lacks || a.Error.Details == apierror.ErrBound.Details {
					t.Errorf("%s: %d %+v; refused for its scope: want %t", what, a.Status, a.Error, lacks)
				}
				if operation.NeedsSession() && (a.Status != http.StatusBadRequest || a.Code() != apierror.CodeInvalidKey) {
					t.Errorf("%s and no session: %d %+v", what, a.Status, a.Error)
				}
				a = bound[scope].On(handler).Call(method, path, "")
				refused := !lacks && operation.Unbound()
				if a.Lacks(operation.Scope) != lacks || (a.Error.Details == apierror.ErrBound.Details) != refused {
					t.Errorf("%s that is bound: %d %+v; refused for it: want %t", what, a.Status, a.Error, refused)
				}
			}
		}
	}
	for _, scope := range allScopes {
		if !needed[scope] {
			t.Errorf("no call needs %s", scope)
		}
	}
	reader := clients["links:read"]
	if a := reader.Call("POST", "/v3/urls?hashes=none", "", httpapitest.Header("X-HTTP-Method-Override", "DELETE")); !a.Lacks("links:write") {
		t.Errorf("a deletion sent as POST: %d %+v", a.Status, a.Error)
	}
	if a := clients["links:create"].Call("POST", "/v3/urls?disable_long_url_duplicates=1", httpapitest.Batch(1)); !a.Lacks("links:read") {
		t.Errorf("a creation that shows existing links: %d %+v", a.Status, a.Error)
	}
	clients["links:create"].Must("POST", "/v3/urls", httpapitest.Batch(2))
}
