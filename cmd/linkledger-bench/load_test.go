package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestMedians(t *testing.T) {
	t.Parallel()
	var r result
	for i, run := range []pair{
		{figures{Rate: 30, P50: 1, P99: 9}, figures{Rate: 60}},
		{figures{Rate: 10, P50: 3, P99: 7}, figures{Rate: 100}},
		{figures{Rate: 20, P50: 2, P99: 8}, figures{Rate: 80}},
	} {
		r.add(run.Ours, run.Control)
		if i == 1 && (r.Rate != 20 || r.Control.Rate != 80) {
			t.Errorf("of two: %+v", r)
		}
	}
	if want := (figures{Rate: 20, P50: 2, P99: 8}); r.figures != want || r.Ratio != 0.25 || r.Control.Rate != 80 {
		t.Errorf("%+v", r)
	}
}

func TestFiguresOfASample(t *testing.T) {
	t.Parallel()
	s := sample{elapsed: 2 * time.Second}
	for i := range 100 {
		s.latencies = append(s.latencies, time.Duration(100-i)*time.Millisecond)
	}
	if got, want := s.figures(50), (figures{Rate: 2500, P50: 50, P99: 99}); got != want {
		t.Errorf("%+v; want %+v", got, want)
	}
}

func TestAnErrorEndsTheLoad(t *testing.T) {
	t.Parallel()
	var s sample
	broken := errors.New("broken")
	err := s.load(t.Context(), 4, time.Hour, func(_ context.Context, worker int) error {
		if worker == 2 {
			return broken
		}
		return nil
	})
	if !errors.Is(err, broken) {
		t.Error(err)
	}
}

// Clicks may come late, but not be too many.
func TestClicksAreCounted(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"error":{"code":0},"urls":[{"total_clicks":2},{"total_clicks":%d}]}`, asked.Add(1))
	}))
	defer server.Close()
	c := newClient(server.URL, account{}, 1)
	defer c.close()
	if counted, err := c.awaitClicks(t.Context(), 4); counted != 4 || err != nil {
		t.Errorf("%d, %v; want 4", counted, err)
	}
	if _, err := c.awaitClicks(t.Context(), 4); err == nil || !strings.Contains(err.Error(), "5 clicks are recorded, but 4 redirects were answered") {
		t.Error(err)
	}
}

// A process that fails says why.
func TestChildThatFails(t *testing.T) {
	t.Parallel()
	_, err := start(t.Context(), "ready", program, "dev", "--listen", "nowhere")
	if err == nil || !strings.Contains(err.Error(), "ended before it was ready") || !strings.Contains(err.Error(), "--listen (LINKLEDGER_LISTEN)") {
		t.Error(err)
	}
}
