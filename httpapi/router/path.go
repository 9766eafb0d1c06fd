package router

import (
	"net/url"
	"slices"
	"strings"

	"linkledger/httpapi/shortlink"
)

// Canonical returns the URL with the canonical spelling of its path: with one slash before it and
// none after it, and escaped only where needed. It returns false for a path that no route has,
// because it has empty or dot segments. The router would redirect such a path or match it with
// another route.
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
	escaped := make([]string, len(segments))
	for i, segment := range segments {
		decoded, err := url.PathUnescape(segment)
		if err != nil {
			return &c, false
		}
		segments[i], escaped[i] = decoded, url.PathEscape(decoded)
	}
	c.Path, c.RawPath = "/"+strings.Join(segments, "/"), "/"+strings.Join(escaped, "/")
	odd := slices.ContainsFunc(
		segments, func(s string) bool { return s == "" || s == "." || s == ".." },
	)
	return &c, rooted && !odd
}
