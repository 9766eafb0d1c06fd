package begun

import (
	"net/url"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// DefaultPath is where a person continues who has asked for no path, or for one where they may
	// not continue. A person may continue at DefaultPath and below it.
	DefaultPath = "/console"
	// apiPath is a path at and below which a person may continue too. All other paths may be short
	// links, which lead to any site.
	apiPath = "/v3"
	// maxPath is the length of the longest path to return to.
	maxPath = 1024
)

// LocalPath returns a text if it is a path of the console or the API, with or without a query, and
// DefaultPath if not. A browser that is redirected to the result stays at the service.
func LocalPath(text string) string {
	if len(text) > maxPath || !strings.HasPrefix(text, "/") || !plain(text) {
		return DefaultPath
	}
	parsed, err := url.Parse(text)
	if err != nil || parsed.Scheme != "" || parsed.Host != "" || parsed.User != nil {
		return DefaultPath
	}
	// The decoded path is checked too, because a proxy may decode the path.
	if !plain(parsed.Path) || !clean(parsed.Path) {
		return DefaultPath
	}
	for _, root := range []string{DefaultPath, apiPath} {
		if parsed.Path == root || strings.HasPrefix(parsed.Path, root+"/") {
			return text
		}
	}
	return DefaultPath
}

// clean reports whether a path has neither empty elements nor the elements . and .. in it.
func clean(text string) bool {
	cleaned := path.Clean(text)
	return text == cleaned || cleaned != "/" && text == cleaned+"/"
}

// plain reports whether a text is UTF-8 without a backslash, which browsers read as a slash, and
// without control characters, which they leave out.
func plain(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		return r == '\\' || unicode.IsControl(r)
	})
}
