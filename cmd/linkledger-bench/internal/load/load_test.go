package load

import (
	"context"
	"errors"
	"testing"
	"time"

	"linkledger/cmd/linkledger-bench/internal/report"
)

func TestFiguresOfASample(t *testing.T) {
	t.Parallel()
	s := Sample{elapsed: 2 * time.Second}
	for i := range 100 {
		s.latencies = append(s.latencies, time.Duration(100-i)*time.Millisecond)
	}
	if got, want := s.Figures(50), (report.Figures{Rate: 2500, P50: 50, P99: 99}); got != want {
		t.Errorf("%+v; want %+v", got, want)
	}
}

func TestAnErrorEndsTheLoad(t *testing.T) {
	t.Parallel()
	var s Sample
	broken := errors.New("broken")
	err := s.Load(t.Context(), 4, time.Hour, func(_ context.Context, worker int) error {
		if worker == 2 {
			return broken
		}
		return nil
	})
	if !errors.Is(err, broken) {
		t.Error(err)
	}
}
