package router

import (
	"net/url"
	"strings"

	"linkledger/httpapi/shortlink"
)

// Canonical returns the URL with the canonical spelling of its path: with one slash before it and
// none after it, and escaped only where needed. It returns false for a path that no route has,
// because it has empty or dot segments. The router would redirect such a path or match it with
// another route. A segment with escaped dots, %2E or %2E%2E, is a name like any other, because a
// tag that an early version made may have such a name.
func Canonical(u *url.URL) (*url.URL, bool) {
	if shortlink.IsPath(u.Path) && u.RawPath == "" {
		return u, true
	}
	c := *u
	path, rooted := strings.CutPrefix(u.EscapedPath(), "/")
	path = strings.TrimLeft(path, "/") // a base URL that ends with a slash makes two
	segments := strings.Split(strings.TrimSuffix(path, "/"), "/")
	if path == "" {
		segments = nil
	}
	escaped, odd := make([]string, len(segments)), false
	for i, segment := range segments {
		decoded, err := url.PathUnescape(segment)
		if err != nil {
			return &c, false
		}
		segments[i], escaped[i] = decoded, url.PathEscape(decoded)
		if decoded == "." || decoded == ".." {
			odd = odd || strings.Contains(segment, ".")
			escaped[i] = strings.ReplaceAll(decoded, ".", "%2E")
		}
		odd = odd || decoded == ""
	}
	c.Path, c.RawPath = "/"+strings.Join(segments, "/"), "/"+strings.Join(escaped, "/")
	return &c, rooted && !odd
}
