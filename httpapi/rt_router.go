package httpapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/uptrace/bunrouter"
)

// route is what answers one method of one path. A route for GET answers HEAD too.
type route struct {
	method, path string
	handler      bunrouter.HandlerFunc
}

// newRouter builds a router that answers unknown paths and methods with the errors of this package. options returns
// what answers OPTIONS with a value of Allow.
func newRouter(routes []route, options func(allow string) bunrouter.HandlerFunc) *bunrouter.Router {
	allow := make(map[string]string)
	notAllowed := func(w http.ResponseWriter, r bunrouter.Request) error {
		w.Header().Set("Allow", allow[r.Route()])
		return &apiError{code: codeMethodNotSupported, details: "Supported are " + allow[r.Route()]}
	}
	router := bunrouter.New(
		bunrouter.WithNotFoundHandler(func(http.ResponseWriter, bunrouter.Request) error {
			return &apiError{code: codeInvalidResource}
		}),
		bunrouter.WithMethodNotAllowedHandler(notAllowed),
	)
	methods := make(map[string][]string)
	for _, r := range routes {
		router.Handle(r.method, r.path, r.handler)
		methods[r.path] = append(methods[r.path], r.method)
		if r.method == http.MethodGet {
			router.HEAD(r.path, r.handler)
			methods[r.path] = append(methods[r.path], http.MethodHead)
		}
	}
	for path, supported := range methods {
		supported = append(supported, http.MethodOptions)
		slices.Sort(supported)
		allow[path] = strings.Join(supported, ", ")
		router.OPTIONS(path, options(allow[path]))
		// Where a path goes on behind a parameter, the router takes another method for another path.
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			if !slices.Contains(supported, method) {
				router.Handle(method, path, notAllowed)
			}
		}
	}
	return router
}
