// Package load measures how fast calls are answered by the program and by its control, which take
// turns.
package load

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"linkledger/cmd/linkledger-bench/internal/child"
	"linkledger/cmd/linkledger-bench/internal/report"
)

// Call makes one call that is measured, on the connection of a worker.
type Call func(ctx context.Context, worker int) error

// Sample has the latencies of calls.
type Sample struct {
	elapsed   time.Duration
	latencies []time.Duration // one per call
}

// Load lets all workers make calls for the duration, and adds the latencies of the calls. Each
// worker makes one call after the other. Load waits for calls in flight at the end. The first error
// stops all workers.
func (s *Sample) Load(ctx context.Context, workers int, duration time.Duration, do Call) error {
	met := make([][]time.Duration, workers)
	all, ctx := errgroup.WithContext(ctx)
	start := time.Now()
	for worker := range workers {
		all.Go(func() error {
			for sent := start; sent.Sub(start) < duration && ctx.Err() == nil; {
				if err := do(ctx, worker); err != nil {
					return err
				}
				answered := time.Now()
				met[worker] = append(met[worker], answered.Sub(sent))
				sent = answered
			}
			return ctx.Err()
		})
	}
	err := all.Wait()
	s.elapsed += time.Since(start)
	s.latencies = append(s.latencies, slices.Concat(met...)...)
	return err
}

// Figures returns the figures of a sample. each is the number of units that one call counts as.
func (s *Sample) Figures(each int) report.Figures {
	slices.Sort(s.latencies)
	percentile := func(p int) float64 {
		return float64(s.latencies[(len(s.latencies)-1)*p/100]) / float64(time.Millisecond)
	}
	return report.Figures{
		Rate: float64(len(s.latencies)*each) / s.elapsed.Seconds(), P50: percentile(50),
		P99: percentile(99),
	}
}

// Comparison is a load on the program and on its control.
type Comparison struct {
	Name, Unit    string
	Control       string // what the control is
	Workers, Each int    // Each is the number of units that one call counts as
	Ours, Bare    Call
	Server        *child.Process // the process whose memory is measured
	// Settle waits for work that a turn leaves behind, so that this work does not slow down the
	// next turn. It may be nil.
	Settle func(context.Context) error
}

// Plan is the length of a measurement.
type Plan struct {
	Runs, Turns int           // turns that program and control each have per run
	Turn        time.Duration // length of one turn
}

// Compare warms up program and control, and then lets them take turns.
func (p Plan) Compare(ctx context.Context, c Comparison) (report.Result, error) {
	measured := report.Result{Name: c.Name, Unit: c.Unit, Control: report.Control{Name: c.Control}}
	if err := p.takeTurns(ctx, c, 1, new(Sample), new(Sample)); err != nil { // the warm-up
		return report.Result{}, err
	}
	if err := c.Server.ForgetPeak(); err != nil {
		return report.Result{}, err
	}
	for range p.Runs {
		var ours, bare Sample
		if err := p.takeTurns(ctx, c, p.Turns, &ours, &bare); err != nil {
			return report.Result{}, err
		}
		measured.Add(ours.Figures(c.Each), bare.Figures(c.Each))
	}
	peak, err := c.Server.Peak()
	measured.PeakMB = peak
	return measured, err
}

func (p Plan) takeTurns(ctx context.Context, c Comparison, turns int, ours, bare *Sample) error {
	for range turns {
		for _, turn := range []struct {
			name string
			load *Sample
			do   Call
		}{{c.Name + ", control", bare, c.Bare}, {c.Name, ours, c.Ours}} {
			if err := turn.load.Load(ctx, c.Workers, p.Turn, turn.do); err != nil {
				return Failed(turn.name, err)
			}
			if c.Settle == nil {
				continue
			}
			if err := c.Settle(ctx); err != nil {
				return Failed(turn.name, err)
			}
		}
	}
	return nil
}

// Failed returns an error that names the measurement that failed.
func Failed(name string, err error) error { return fmt.Errorf("%s: %w", name, err) }
