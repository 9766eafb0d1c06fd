package router_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/router"
)

// says returns a handler that answers with a text and the parameter of the path.
func says(text string) router.Handler {
	return func(w http.ResponseWriter, r router.Request) error {
		_, err := io.WriteString(w, text+r.Params().ByName("id"))
		return err
	}
}

// newRouter returns a router of things, which answers OPTIONS with the supported methods.
func newRouter() *router.Router {
	return router.New([]router.Route{
		router.Get("/things", says("list")),
		router.Post("/things", says("make")),
		router.Get("/things/:id", says("read ")),
		router.Put("/things/:id", says("put ")),
		router.Patch("/things/:id", says("edit ")),
		router.Delete("/things/:id", says("delete ")),
		router.Post("/things/:id/parts", says("parts of ")),
	}, says)
}

// TestRoutesAnswer checks which handler answers a method of a path, or which error it gets.
func TestRoutesAnswer(t *testing.T) {
	t.Parallel()
	served := newRouter()
	const ofList, ofOne = "GET, HEAD, OPTIONS, POST", "DELETE, GET, HEAD, OPTIONS, PATCH, PUT"
	for name, tc := range map[string]struct {
		method, path string
		want, allow  string
		code         apierror.Code
	}{
		"read a list":           {"GET", "/things", "list", "", 0},
		"head of a list":        {"HEAD", "/things", "list", "", 0},
		"make":                  {"POST", "/things", "make", "", 0},
		"read one":              {"GET", "/things/7", "read 7", "", 0},
		"head of one":           {"HEAD", "/things/7", "read 7", "", 0},
		"put":                   {"PUT", "/things/7", "put 7", "", 0},
		"edit":                  {"PATCH", "/things/7", "edit 7", "", 0},
		"delete":                {"DELETE", "/things/7", "delete 7", "", 0},
		"below a parameter":     {"POST", "/things/7/parts", "parts of 7", "", 0},
		"options of a list":     {"OPTIONS", "/things", ofList, "", 0},
		"options of one":        {"OPTIONS", "/things/7", ofOne + "7", "", 0},
		"options of parts":      {"OPTIONS", "/things/7/parts", "OPTIONS, POST7", "", 0},
		"method of no list":     {"DELETE", "/things", "", ofList, apierror.CodeMethodNotSupported},
		"method of none":        {"POST", "/things/7", "", ofOne, apierror.CodeMethodNotSupported},
		"head without a read":   {"HEAD", "/things/7/parts", "", "OPTIONS, POST", apierror.CodeMethodNotSupported},
		"read without a read":   {"GET", "/things/7/parts", "", "OPTIONS, POST", apierror.CodeMethodNotSupported},
		"unknown path":          {"GET", "/nothing", "", "", apierror.CodeInvalidResource},
		"unknown path below":    {"GET", "/things/7/nothing", "", "", apierror.CodeInvalidResource},
		"options of no path":    {"OPTIONS", "/nothing", "", "", apierror.CodeInvalidResource},
		"unknown path of write": {"POST", "/nothing", "", "", apierror.CodeInvalidResource},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := httptest.NewRecorder()
			err := served.ServeHTTPError(answer, httptest.NewRequestWithContext(t.Context(), tc.method, tc.path, nil))
			var refused *apierror.Error
			if errors.As(err, &refused) != (tc.code != 0) || refused != nil && refused.Code != tc.code {
				t.Errorf("the error is %v, want code %d", err, tc.code)
			}
			if body, allow := answer.Body.String(), answer.Header().Get("Allow"); body != tc.want || allow != tc.allow {
				t.Errorf("the answer is %q and allows %q, want %q and %q", body, allow, tc.want, tc.allow)
			}
		})
	}
}

// TestRoutes checks that the router names its routes, in their order, and that a caller cannot change them.
func TestRoutes(t *testing.T) {
	t.Parallel()
	served := newRouter()
	want := []string{
		"GET /things", "POST /things", "GET /things/:id", "PUT /things/:id", "PATCH /things/:id", "DELETE /things/:id",
		"POST /things/:id/parts",
	}
	for range 2 {
		var got []string
		routes := served.Routes()
		for i, route := range routes {
			got = append(got, route.Method+" "+route.Path)
			routes[i] = router.Route{}
		}
		if !slices.Equal(got, want) {
			t.Errorf("the routes are %q, want %q", got, want)
		}
	}
}
