package httpserver

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"
)

// TestSlowClients checks that clients that send their requests byte by byte do not delay redirects
// and are disconnected.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- Serve(
			ctx, stop, http.RedirectHandler("https://example.com/", http.StatusFound), listener,
			slog.New(slog.DiscardHandler),
		)
	}()
	slow := make([]net.Conn, 300)
	for i := range slow {
		if slow[i], err = net.Dial("tcp", listener.Addr().String()); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = slow[i].Close() }()
		if _, err := io.WriteString(slow[i], "GET /one HTTP/1.1\r\nHost: sho.rt\r\nX-Slow: "); err != nil {
			t.Fatal(err)
		}
	}
	request, err := http.NewRequestWithContext(
		t.Context(), http.MethodGet, "http://"+listener.Addr().String()+"/one", nil,
	)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		response, err := http.DefaultTransport.RoundTrip(request)
		if err != nil {
			t.Fatalf("redirect during slow requests: %v", err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusFound {
			t.Fatalf("redirect during slow requests: %s", response.Status)
		}
	}
	for _, connection := range slow {
		if err := connection.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(connection); err != nil { // until the server closes the connection
			t.Fatalf("a slow client was not disconnected: %v", err)
		}
	}
	stop(nil)
	if err := <-served; err != nil {
		t.Error(err)
	}
}
