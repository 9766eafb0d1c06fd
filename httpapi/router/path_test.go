package router

import (
	"net/url"
	"strings"
	"testing"
)

// Whatever the path, there is one spelling of it that the routers see, or none.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{"/v3/urls/a%20b/", "/", "//a", "/a/%2e%2e/b", "/%2F", "a", "/%zz", "/\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		u, err := url.ParseRequestURI(path)
		if err != nil {
			return
		}
		once, known := Canonical(u)
		if !known {
			return
		}
		again, still := Canonical(once)
		if !still || again.Path != once.Path || again.RawPath != once.RawPath || !strings.HasPrefix(once.Path, "/") {
			t.Errorf("%q is %q, and that is %q", path, once.RawPath, again.RawPath)
		}
	})
}
