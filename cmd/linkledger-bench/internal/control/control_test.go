package control_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"linkledger/cmd/linkledger-bench/internal/control"
	"linkledger/events"
	"linkledger/events/eventstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestServe checks that the control answers what the measurements ask of it, and ends with its context.
func TestServe(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	reader, stdout := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- control.Serve(ctx, stdout) }()
	line, err := bufio.NewReader(reader).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var web, calls string
	if _, err := fmt.Sscanf(line, "control is ready: %s %s", &web, &calls); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})

	t.Run("redirects any path", func(t *testing.T) {
		t.Parallel()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+web+"/any", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if status, _ := answer(t, request); status != http.StatusFound {
			t.Errorf("status %d, want 302", status)
		}
	})
	t.Run("echoes what is posted", func(t *testing.T) {
		t.Parallel()
		request, err := http.NewRequestWithContext(
			t.Context(), http.MethodPost, "http://"+web+"/v3/urls", strings.NewReader("posted"),
		)
		if err != nil {
			t.Fatal(err)
		}
		if status, body := answer(t, request); status != http.StatusOK || body != "posted" {
			t.Errorf("status %d, body %q", status, body)
		}
	})
	t.Run("accepts appends", func(t *testing.T) {
		t.Parallel()
		store, err := eventstore.Open(eventstore.Config{URL: "esdb://" + calls + "?tls=false"})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		// The control stores nothing, so the same append succeeds twice.
		for range 2 {
			if _, err := store.Append(t.Context(), eventstore.Write{
				Stream: events.StreamURL + "one", Expected: eventstore.NoStream, Command: uuid.New(),
				Events: []events.Event{events.URLRetargeted{LongURL: "https://example.com/"}},
			}); err != nil {
				t.Error(err)
			}
		}
	})
}

// answer returns the status and the body of an answer. It follows no redirect and keeps no connection.
func answer(t *testing.T, request *http.Request) (status int, body string) {
	t.Helper()
	request.Close = true
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(read)
}
