package begun_test

import (
	"net/url"
	"strings"
	"testing"

	"linkledger/httpapi/openid/begun"
)

func TestLocalPath(t *testing.T) {
	t.Parallel()
	longest := "/v3/" + strings.Repeat("a", 1020)
	for name, path := range map[string]string{
		"root": "/console", "API": "/v3/session", "path": "/console/links", "slash at the end": "/console/", "query": "/console?a=b&c=//d",
		"fragment": "/console#top", "escape": "/console/a%20b", "encoded query": "/console?a=%0A%5C",
		"other letters": "/console/ä", "at": "/console/@evil", "colon": "/console/a:b", "longest": longest,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := begun.LocalPath(path); got != path {
				t.Errorf("%.60q becomes %.60q", path, got)
			}
		})
	}
	for name, text := range map[string]string{
		"empty": "", "relative": "console", "dot": "./console", "query alone": "?a", "fragment alone": "#a",
		"short link": "/hash", "root of links": "/", "like the console": "/consoles", "like the API": "/v3x/y",
		"URL": "https://evil.example", "other scheme": "javascript:alert(1)", "without scheme": "//evil.example",
		"three slashes": "///evil.example", "two slashes": "//", "slashes inside": "/console//evil", "backslash": `/\evil`,
		"backslash first": `\\evil`, "backslash inside": `/console/a\b`, "encoded backslash": "/%5Cevil",
		"encoded slash": "/%2Fevil.example", "encoded slash alone": "/%2f", "encoded tab": "/%09/evil",
		"tab": "/\t/evil", "tab first": "\t//evil", "space first": " //evil", "line": "/console\nb", "line feed first": "\n/a",
		"carriage return": "/a\r", "NUL": "/a\x00", "encoded NUL": "/a%00", "delete": "/a\x7f", "C1 control": "/a\u0085b",
		"invalid UTF-8": "/a\xff", "encoded invalid UTF-8": "/a%ff", "malformed escape": "/%zz",
		"dots": "/console/../b", "dots to a host": "/..//evil", "encoded dots": "/console/%2e%2e/b", "dot inside": "/./console",
		"backslash in the query": `/a?b=\c`, "control in the fragment": "/a#b\u0085", "too long": longest + "a",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := begun.LocalPath(text); got != begun.DefaultPath {
				t.Errorf("%.60q becomes %.60q; want %q", text, got, begun.DefaultPath)
			}
		})
	}
}

func FuzzLocalPath(f *testing.F) {
	for _, seed := range []string{"/", "/a?b#c", "//evil", `/\evil`, "/%09/evil", "https://evil", "/a/../b"} {
		f.Add(seed)
	}
	here := &url.URL{Scheme: "https", Host: "links.example", Path: "/a/b"}
	f.Fuzz(func(t *testing.T, text string) {
		local := begun.LocalPath(text)
		if local != text && local != begun.DefaultPath {
			t.Fatalf("%q becomes %q", text, local)
		}
		// This is how browsers read a Location.
		location := strings.NewReplacer("\t", "", "\n", "", "\r", "", `\`, "/").Replace(local)
		got, err := here.Parse(location)
		if err != nil || got.Scheme != here.Scheme || got.Host != here.Host {
			t.Errorf("%q leads to %v, %v", text, got, err)
		}
	})
}
