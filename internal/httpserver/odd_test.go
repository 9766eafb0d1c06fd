package httpserver

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestOddRequestsAreRefused sends requests that are hardly HTTP. No answer says that the node cannot serve: the answers
// are 4xx, except for 501 (unknown transfer coding) and 505 (unknown HTTP version). These two are about the request,
// and no proxy sends such requests on.
func TestOddRequestsAreRefused(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() {
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				w.WriteHeader(http.StatusBadRequest)
			}
		})
		ended <- ServeFast(ctx, stop, handler, func(path string) bool { return path == "/a" }, listener, slog.New(slog.DiscardHandler))
	}()
	for request, want := range map[string]int{
		"GET /a HTTP/1.0\r\n\r\n":                                                       200,
		"GET /a HTTP/1.1\r\n\r\n":                                                       400, // no host
		"GET /a HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n":                                 400,
		"GET /a HTTP/1.1\r\nHost: a b\r\n\r\n":                                          400,
		"GET /\x00 HTTP/1.1\r\nHost: a\r\n\r\n":                                         400,
		"GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n":                                          200, // as /%25zz
		"G@T /a HTTP/1.1\r\nHost: a\r\n\r\n":                                            400,
		"GET a b c HTTP/1.1\r\nHost: a\r\n\r\n":                                         400,
		"nonsense\r\n\r\n":                                                              400,
		"POST /a HTTP/1.1\r\nHost: a\r\nExpect: a miracle\r\n\r\n":                      417,
		"POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n":                     400,
		"POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n": 400,
		"POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n":       400,
		"GET /" + strings.Repeat("a", 300<<10) + " HTTP/1.1\r\nHost: a\r\n\r\n":         431,
		"GET /a HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("a", 300<<10) + "\r\n\r\n": 431,
		"POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n":                501,
		"GET /a HTTP/3.0\r\nHost: a\r\n\r\n":                                            505,
	} {
		connection, err := net.Dial("tcp", listener.Addr().String())
		if err == nil {
			err = connection.SetDeadline(time.Now().Add(time.Minute))
		}
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.WriteString(connection, request) }() // a long one is refused before its end
		response, err := http.ReadResponse(bufio.NewReader(connection), nil)
		if err != nil {
			t.Errorf("%.60q: %v", request, err)
		} else if response.StatusCode != want {
			t.Errorf("%.60q is answered %d; want %d", request, response.StatusCode, want)
		}
		if response != nil {
			_ = response.Body.Close()
		}
		_ = connection.Close()
	}
	stop(nil)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
