package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestGate sends requests before the service can answer.
func TestGate(t *testing.T) {
	t.Parallel()
	answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	ask := func(g *Gate, path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		g.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		return w
	}
	wantRefused := func(w *httptest.ResponseRecorder, contentType string) {
		t.Helper()
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" ||
			w.Header().Get("X-Request-Id") == "" || !strings.Contains(w.Body.String(), "The service is starting") ||
			!strings.HasPrefix(w.Header().Get("Content-Type"), contentType) {
			t.Errorf("got %d %v %s", w.Code, w.Header(), w.Body)
		}
	}

	closed := NewGate(t.Context(), slog.New(slog.DiscardHandler))
	closed.timeout = 10 * time.Millisecond
	wantRefused(ask(closed, "/v3/urls"), "application/json")
	wantRefused(ask(closed, "/pg"), "text/html")

	ctx, end := context.WithCancel(t.Context())
	ending := NewGate(ctx, slog.New(slog.DiscardHandler))
	end()
	wantRefused(ask(ending, "/v3/urls"), "application/json")

	opening := NewGate(t.Context(), slog.New(slog.DiscardHandler))
	answered := make(chan int)
	go func() { answered <- ask(opening, "/v3/urls").Code }()
	var wrong error
	opening.Open(answer, func() error { return wrong })
	if code := <-answered; code != http.StatusTeapot {
		t.Errorf("a request that waited is answered %d", code)
	}
	if code := ask(opening, "/pg").Code; code != http.StatusTeapot {
		t.Errorf("a request after the start is answered %d", code)
	}
	wrong = errors.New("the clock is ahead")
	if w := ask(opening, "/pg"); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), wrong.Error()) {
		t.Errorf("a node that must not serve answers %d %s", w.Code, w.Body)
	}
}

// TestDrainedClientsLeave checks that every answer closes its connection while a node drains, a refusal too.
func TestDrainedClientsLeave(t *testing.T) {
	t.Parallel()
	g := NewGate(t.Context(), slog.New(slog.DiscardHandler))
	var wrong error
	g.Open(http.NotFoundHandler(), func() error { return wrong })
	ask := func() string {
		w := httptest.NewRecorder()
		g.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/pg", nil))
		return w.Header().Get("Connection")
	}
	if got := ask(); got != "" {
		t.Errorf("before, Connection is %q", got)
	}
	g.Drain()
	if got := ask(); got != "close" {
		t.Errorf("then, Connection is %q", got)
	}
	wrong = errors.New("the clock is ahead")
	if got := ask(); got != "close" {
		t.Errorf("Connection of a refusal is %q", got)
	}
}
