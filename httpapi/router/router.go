// Package router maps paths and methods to handlers. Unknown paths and methods get the errors of
// the API. Every path answers OPTIONS.
package router

import (
	"net/http"
	"slices"
	"strings"

	"github.com/uptrace/bunrouter"

	"linkledger/httpapi/apierror"
)

// Handler handles the requests of a route. If it returns an error, its caller writes the response.
type Handler = bunrouter.HandlerFunc

// Request is a request with its route and the parameters of its path.
type Request = bunrouter.Request

// Router chooses the handler of a request.
type Router struct {
	*bunrouter.Router

	routes []Route
}

// Routes returns the routes. Each route of GET answers HEAD too, and each path answers OPTIONS.
func (r *Router) Routes() []Route { return slices.Clone(r.routes) }

// Route is the handler of one method of one path.
type Route struct {
	Method, Path string
	handler      bunrouter.HandlerFunc
}

// Get returns a route for GET and HEAD.
func Get(path string, handler bunrouter.HandlerFunc) Route {
	return Route{Method: http.MethodGet, Path: path, handler: handler}
}

// Post returns a route for POST.
func Post(path string, handler bunrouter.HandlerFunc) Route {
	return Route{Method: http.MethodPost, Path: path, handler: handler}
}

// Put returns a route for PUT.
func Put(path string, handler bunrouter.HandlerFunc) Route {
	return Route{Method: http.MethodPut, Path: path, handler: handler}
}

// Patch returns a route for PATCH.
func Patch(path string, handler bunrouter.HandlerFunc) Route {
	return Route{Method: http.MethodPatch, Path: path, handler: handler}
}

// Delete returns a route for DELETE.
func Delete(path string, handler bunrouter.HandlerFunc) Route {
	return Route{Method: http.MethodDelete, Path: path, handler: handler}
}

// New returns a router of routes. Unknown paths and methods get the errors of the API. options
// returns the handler of OPTIONS for a value of the header Allow.
func New(routes []Route, options func(allow string) bunrouter.HandlerFunc) *Router {
	allow := make(map[string]string)
	notAllowed := func(w http.ResponseWriter, r bunrouter.Request) error {
		w.Header().Set("Allow", allow[r.Route()])
		return &apierror.Error{
			Code: apierror.CodeMethodNotSupported, Details: "Supported are " + allow[r.Route()],
		}
	}
	router := bunrouter.New(
		bunrouter.WithNotFoundHandler(func(http.ResponseWriter, bunrouter.Request) error {
			return &apierror.Error{Code: apierror.CodeInvalidResource}
		}),
		bunrouter.WithMethodNotAllowedHandler(notAllowed),
	)
	methods := make(map[string][]string)
	for _, r := range routes {
		router.Handle(r.Method, r.Path, r.handler)
		methods[r.Path] = append(methods[r.Path], r.Method)
		if r.Method == http.MethodGet {
			router.HEAD(r.Path, r.handler)
			methods[r.Path] = append(methods[r.Path], http.MethodHead)
		}
	}
	for path, supported := range methods {
		supported = append(supported, http.MethodOptions)
		slices.Sort(supported)
		allow[path] = strings.Join(supported, ", ")
		router.OPTIONS(path, options(allow[path]))
		// Without these routes, the router reports an unknown path instead of an unknown method if
		// other routes continue behind a parameter of this path.
		for _, method := range []string{
			http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
			http.MethodDelete,
		} {
			if !slices.Contains(supported, method) {
				router.Handle(method, path, notAllowed)
			}
		}
	}
	return &Router{router, routes}
}
