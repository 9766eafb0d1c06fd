package router

import (
	"net/url"
	"strings"
	"testing"
)

// FuzzPath checks that a path has at most one canonical form, and that the canonical form of that
// is itself.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{"/v3/urls/a%20b/", "/", "//a", "/a/%2e%2e/b", "/a/%2E/.", "/%2e.", "/%2F", "a", "/%zz", "/\xff"} {
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
			t.Errorf("the canonical form of %q is %q, and that of this is %q", path, once.RawPath, again.RawPath)
		}
	})
}
