package httpserver

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"
)

// TestNewConnectionsAreServedAtTheEnd checks that a connection that was accepted before the server stops gets its first
// call answered: a proxy does not repeat a POST that it has sent.
func TestNewConnectionsAreServedAtTheEnd(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() {
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
		fast := func(path string) bool { return path == "/a" }
		ended <- ServeFast(ctx, stop, handler, fast, listener, slog.New(slog.DiscardHandler))
	}()
	dial := func() net.Conn {
		connection, err := net.Dial("tcp", listener.Addr().String())
		if err == nil {
			err = connection.SetDeadline(time.Now().Add(time.Minute))
		}
		if err != nil {
			t.Fatal(err)
		}
		return connection
	}
	ask := func(connection net.Conn, request string) (status int, last bool) {
		if _, err := io.WriteString(connection, request); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(bufio.NewReader(connection), nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		return response.StatusCode, response.Close
	}
	early, later := dial(), dial()
	ask(later, "GET /a HTTP/1.1\r\nHost: a\r\n\r\n") // so the other one was accepted before
	stop(nil)
	for { // until new connections are refused
		connection, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			break
		}
		_ = connection.Close()
	}
	status, last := ask(early, "POST /v3/urls HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nok")
	if status != http.StatusOK || !last {
		t.Errorf("answered %d, the last answer of its connection: %t", status, last)
	}
	_, _ = early.Close(), later.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
