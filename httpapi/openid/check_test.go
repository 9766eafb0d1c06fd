package openid_test

import (
	"net/url"
	"strings"
	"testing"

	"linkledger/httpapi/openid"
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
			if got := openid.LocalPath(path); got != path {
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
			if got := openid.LocalPath(text); got != openid.DefaultPath {
				t.Errorf("%.60q becomes %.60q; want %q", text, got, openid.DefaultPath)
			}
		})
	}
}

func TestCheckIssuer(t *testing.T) {
	t.Parallel()
	for name, issuer := range map[string]string{
		"host": "https://issuer.example", "path": "https://issuer.example/realms/a", "slash": "https://issuer.example/",
		"port": "https://issuer.example:8443", "localhost": "http://localhost:8080", "IPv4": "http://127.0.0.1:8080/a",
		"IPv6": "http://[::1]:8080",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := openid.CheckIssuer(issuer); err != nil {
				t.Errorf("%s: %v", issuer, err)
			}
		})
	}
	for name, issuer := range map[string]string{
		"empty": "", "host alone": "issuer.example", "HTTP": "http://issuer.example", "private": "http://192.168.0.1",
		"like localhost": "http://localhost.evil.example", "like IPv4": "http://127.0.0.1.evil.example",
		"no host": "https://", "port alone": "https://:443", "opaque": "https:issuer.example", "file": "file:///a",
		"query": "https://issuer.example?a=b", "empty query": "https://issuer.example?",
		"fragment": "https://issuer.example#a", "user": "https://a:hunter2@issuer.example",
		"malformed": "https://a:hunter2@issuer.example:port", "control": "https://issuer.example\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := openid.CheckIssuer(issuer)
			if err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%q: error %v; want one without the password", issuer, err)
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
		local := openid.LocalPath(text)
		if local != text && local != openid.DefaultPath {
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
