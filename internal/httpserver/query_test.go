package httpserver

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestLongQueriesAreServed checks that long queries are served, because some clients of the API
// send the JSON of a whole batch in the query of their next call.
func TestLongQueriesAreServed(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(
			ctx, stop, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), listener,
			slog.New(slog.DiscardHandler),
		)
	}()
	for size, want := range map[int]int{30 * 4000: http.StatusOK, 200 << 10: http.StatusRequestHeaderFieldsTooLarge} {
		response, err := http.Get("http://" + listener.Addr().String() + "/?" + strings.Repeat("x", size))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("a query of %d bytes is answered %d; want %d", size, response.StatusCode, want)
		}
	}
	stop(nil)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
