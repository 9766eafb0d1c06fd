package fastpath

import (
	"bufio"
	"bytes"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestMended(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		"GET /abc% HTTP/1.1\r\nHost: a%\r\n\r\n": "GET /abc%25 HTTP/1.1\r\nHost: a%\r\n\r\n",
		"HEAD /abc%2 HTTP/1.1\r\n\r\n":           "HEAD /abc%252 HTTP/1.1\r\n\r\n",
		"GET /abc%zz%20%%41 HTTP/1.0\n\n":        "GET /abc%25zz%20%25%41 HTTP/1.0\n\n",
		"GET /abc%?q=100% HTTP/1.1\r\n":          "GET /abc%25?q=100% HTTP/1.1\r\n",
		"GET /abc%20 HTTP/1.1\r\n":               "GET /abc%20 HTTP/1.1\r\n",
		"GET http://a/abc% HTTP/1.1\r\n":         "GET http://a/abc% HTTP/1.1\r\n",
		"GET /abc%":                              "GET /abc%",
		"GET /abc% HTTP/2.0\r\n":                 "GET /abc% HTTP/2.0\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n":       "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"GET  HTTP/1.1\r\n":                      "GET  HTTP/1.1\r\n",
		"":                                       "",
	} {
		if got := string(mended([]byte(sent))); got != want {
			t.Errorf("%q becomes %q, want %q", sent, got, want)
		}
	}
}

// FuzzMended checks that a request which net/http reads is not changed, and that a path which it refuses for its
// escapes alone is read with each % of them.
func FuzzMended(f *testing.F) {
	f.Add("GET /abc% HTTP/1.1\r\nHost: a\r\n\r\n")
	f.Add("GET /%2x?%% HTTP/1.1\r\nHost: a\r\n\r\nGET /% HTTP/1.1\r\n\r\n")
	f.Fuzz(func(t *testing.T, sent string) {
		got := mended([]byte(sent))
		again := mended(got)
		if !bytes.Equal(again, got) {
			t.Errorf("%q becomes %q, and this %q", sent, got, again)
		}
		if _, err := http.ReadRequest(bufio.NewReader(strings.NewReader(sent))); err == nil && string(got) != sent {
			t.Errorf("%q becomes %q", sent, got)
		}
		line, _, _ := strings.Cut(string(got), "\n")
		if parts := strings.Split(line, " "); len(parts) == 3 && strings.HasPrefix(parts[1], "/") &&
			strings.HasPrefix(parts[2], "HTTP/1.") {
			path, _, _ := strings.Cut(parts[1], "?")
			if _, err := url.PathUnescape(path); err != nil {
				t.Errorf("%q has the path %q: %v", got, path, err)
			}
		}
	})
}
