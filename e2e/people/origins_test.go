package people_test

import (
	"net/http"
	"path/filepath"
	"testing"

	"linkledger/e2e/e2etest"
)

// TestOrigins checks that dev allows requests from pages of all origins by default, only from the listed origins with a
// list, and from no page with an empty list.
func TestOrigins(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "data")
	for _, tc := range []struct {
		flags []string
		want  map[string]string // by origin
	}{
		{nil, map[string]string{"https://app.example": "*", "null": "*"}},
		{
			[]string{"--cors-origins=https://app.example,http://b:1"},
			map[string]string{"https://app.example": "https://app.example", "http://b:1": "http://b:1", "http://b": ""},
		},
		{[]string{"--cors-origins="}, map[string]string{"https://app.example": ""}},
	} {
		d := e2etest.StartDev(t, folder, tc.flags...)
		for origin, want := range tc.want {
			for _, method := range []string{http.MethodGet, http.MethodOptions} {
				request, err := e2etest.APIRequest(t.Context(), d.Base, e2etest.DemoUser, d.Key, method, "/account", "")
				if err != nil {
					t.Fatal(err)
				}
				request.Header.Set("Origin", origin)
				if method == http.MethodOptions {
					request.Header.Set("Access-Control-Request-Method", http.MethodGet)
				}
				response, err := http.DefaultClient.Do(request)
				if err != nil {
					t.Fatal(err)
				}
				_ = response.Body.Close()
				if got := response.Header.Get("Access-Control-Allow-Origin"); got != want {
					t.Errorf("%v: %s from %s is answered for %q; want %q", tc.flags, method, origin, got, want)
				}
			}
		}
		d.Interrupt()
	}
}
