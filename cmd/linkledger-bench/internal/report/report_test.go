package report

import (
	"testing"
)

func TestMedians(t *testing.T) {
	t.Parallel()
	var r Result
	for i, run := range []pair{
		{Figures{Rate: 30, P50: 1, P99: 9}, Figures{Rate: 60}},
		{Figures{Rate: 10, P50: 3, P99: 7}, Figures{Rate: 100}},
		{Figures{Rate: 20, P50: 2, P99: 8}, Figures{Rate: 80}},
	} {
		r.Add(run.Ours, run.Control)
		if i == 1 && (r.Rate != 20 || r.Control.Rate != 80) {
			t.Errorf("of two: %+v", r)
		}
	}
	if want := (Figures{Rate: 20, P50: 2, P99: 8}); r.Figures != want || r.Ratio != 0.25 || r.Control.Rate != 80 {
		t.Errorf("%+v", r)
	}
}
