package router

import (
	"net/url"
	"slices"
	"strings"

	"linkledger/httpapi/shortlink"
)

// Canonical returns the URL with the one spelling of its path that the routers see: no trailing
// slash, and escaped only what has to be. It is false for paths that no route has: with empty or
// dot segments, which the router would answer with a redirect or take for others.
func Canonical(u *url.URL) (*url.URL, bool) {
	if shortlink.IsPath(u.Path) && u.RawPath == "" {
		return u, true
	}
	c := *u
	path, rooted := strings.CutPrefix(u.EscapedPath(), "/")
	segments := strings.Split(strings.TrimSuffix(path, "/"), "/")
	if path == "" || path == "/" {
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
	odd := path == "/" || slices.ContainsFunc(
		segments, func(s string) bool { return s == "" || s == "." || s == ".." },
	)
	return &c, rooted && !odd
}
