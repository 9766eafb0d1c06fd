package httpapi_test

import (
	"slices"
	"strings"
	"testing"

	"linkledger/commands/hashes"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/openapi"
	"linkledger/httpapi/signin"
	v3 "linkledger/httpapi/v3"
)

// TestRoutesAreReserved checks that no short link can hide behind a route, or look as if it were one.
func TestRoutesAreReserved(t *testing.T) {
	t.Parallel()
	docs, err := openapi.Routes()
	if err != nil {
		t.Fatal(err)
	}
	pages := httpapitest.New(t).Server.Pages().Routes()
	roots := make(map[string]bool)
	for _, route := range slices.Concat((&v3.API{}).Routes(), docs, pages, (&signin.Handler{}).Routes()) {
		root, _, _ := strings.Cut(strings.TrimPrefix(route.Path, "/"), "/")
		roots[root] = true
		if hashes.Valid(root) && (!hashes.Served(root) || !hashes.Reserved(strings.ToUpper(root))) {
			t.Errorf("a short link can have the hash %q, but there is a route %s", root, route.Path)
		}
	}
	if !roots["v3"] || !roots["console"] {
		t.Errorf("the roots are %v", roots)
	}
}
