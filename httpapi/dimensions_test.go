package httpapi

import (
	"net/http"
	"strings"
	"testing"
)

func TestDimensions(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(t, "alice")
	c.create(`"long_url":"https://example.com/","custom_hash":"one"`)
	visit := func(referrer, userAgent string) {
		t.Helper()
		a := s.visit(t, "GET", "/one", header("Referer", referrer), header("User-Agent", userAgent))
		equal(t, "status", a.status, http.StatusFound)
	}
	read := func(query, want string) {
		t.Helper()
		a := c.must("GET", "/v3/urls/one/dimensions"+query, "")
		_, got, _ := strings.Cut(a.body, `"dimensions":`)
		equal(t, "dimensions "+query, strings.TrimSuffix(strings.TrimSpace(got), "}"), want)
	}
	none := `{"hash":"one","referrer":[],"country":[],"browser":[],"os":[],"device":[]}`
	read("", none)
	visit("https://a.example/page", firefox)
	visit("https://b.example/", iPhone)
	visit("https://b.example/", lynx)
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

	c.must("DELETE", "/v3/stats/one", "")
	visit("https://c.example/", lynx) // the read must also wait for the earlier reset
	read("", strings.Replace(none, `"referrer":[]`, `"referrer":[{"value":"c.example","clicks":1}]`, 1))
}
