package decode_test

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"linkledger/httpapi/decode"
	"linkledger/httpapi/request"
)

// TestRepairedQueries reads query strings that clients have not escaped as these clients mean them.
func TestRepairedQueries(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"":                        "",
		"hashes=a,b&limit=1":      "hashes=a,b&limit=1",
		"tags=a;b":                "tags=a%3Bb",
		"tags=a&~b&limit=1":       "tags=a%26~b&limit=1",
		"t%61gs=a&b":              "t%61gs=a%26b",
		"tags=a&&b&":              "tags=a%26b",
		"limit=1&tags=a&b&c":      "limit=1&tags=a%26b%26c",
		"tags=a&limit=1&b":        "tags=a&limit=1", // b is not part of the expression
		"b&tags=a":                "tags=a",
		`tags=a&{"x":"&tags=b"}`:  "tags=a",
		`{"x":"&tags=b"}&limit=1`: "",
		"search=a&b":              "search=a",
		strings.Repeat("&", 100):  "",
	} {
		wanted, err := url.ParseQuery(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decode.Query(&request.Context{Request: &http.Request{URL: &url.URL{RawQuery: raw}}})
		if err != nil || !maps.EqualFunc(got, wanted, slices.Equal[[]string]) {
			t.Errorf("%s is read as %v, %v; want %v", raw, got, err, wanted)
		}
	}
}
