package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"linkledger/httpapi/httpapitest"
)

func TestDimensions(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	c.Create(`"long_url":"https://example.com/","custom_hash":"one"`)
	visit := func(referrer, userAgent string) {
		t.Helper()
		a := s.Visit(t, "GET", "/one", httpapitest.Header("Referer", referrer), httpapitest.Header("User-Agent", userAgent))
		httpapitest.Equal(t, "status", a.Status, http.StatusFound)
	}
	read := func(query, want string) {
		t.Helper()
		a := c.Must("GET", "/v3/urls/one/dimensions"+query, "")
		_, got, _ := strings.Cut(a.Body, `"dimensions":`)
		httpapitest.Equal(t, "dimensions "+query, strings.TrimSuffix(strings.TrimSpace(got), "}"), want)
	}
	none := `{"hash":"one","referrer":[],"country":[],"browser":[],"os":[],"device":[]}`
	read("", none)
	visit("https://a.example/page", httpapitest.Firefox)
	visit("https://b.example/", httpapitest.IPhone)
	visit("https://b.example/", httpapitest.Lynx)
	visit("https://b.example/", "Googlebot/2.1")
	all := `{"hash":"one","referrer":[{"value":"b.example","clicks":2},{"value":"a.example","clicks":1}],"country":[],` +
		`"browser":[{"value":"Firefox","clicks":1},{"value":"Safari","clicks":1}],` +
		`"os":[{"value":"Linux","clicks":1},{"value":"iOS","clicks":1}],` +
		`"device":[{"value":"desktop","clicks":1},{"value":"mobile","clicks":1}]}`
	read("", all)
	read("?from=2026-05-14&to=2026-05-14&limit=1000", all)
	read("?from=0001-01-01&to=9999-12-31", all)
	read("?from=2026-05-15", none)
	read("?to=2026-05-13", none)
	read("?limit=1", `{"hash":"one","referrer":[{"value":"b.example","clicks":2},{"value":"other","clicks":1}],"country":[],`+
		`"browser":[{"value":"Firefox","clicks":1},{"value":"other","clicks":1}],`+
		`"os":[{"value":"Linux","clicks":1},{"value":"other","clicks":1}],`+
		`"device":[{"value":"desktop","clicks":1},{"value":"other","clicks":1}]}`)

	c.Must("DELETE", "/v3/stats/one", "")
	visit("https://c.example/", httpapitest.Lynx) // the read must also wait for the earlier reset
	read("", strings.Replace(none, `"referrer":[]`, `"referrer":[{"value":"c.example","clicks":1}]`, 1))
}
