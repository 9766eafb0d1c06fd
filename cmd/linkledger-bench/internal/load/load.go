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

// Call does one thing that is measured, on the connection of a worker.
type Call func(ctx context.Context, worker int) error

// Sample is what the workers met.
type Sample struct {
	elapsed   time.Duration
	latencies []time.Duration // one of each call
}

// Load has all workers call, one call after the other, until the time is over, and adds what they
// met. Calls under way then are waited for; the first error ends all.
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

// Figures of a sample whose calls each did so many things.
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
	Workers, Each int    // each call counts as so many
	Ours, Bare    Call
	Server        *child.Process // whose memory is read
	// waits for what ours leaves to be done, lest it be the control's burden; may be nil
	Settle func(context.Context) error
}

// Plan says how long is measured.
type Plan struct {
	Runs, Turns int           // the program and its control take so many turns in each run
	Turn        time.Duration // of either
}

// Compare warms both up and has them take turns.
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
		if err := bare.Load(ctx, c.Workers, p.Turn, c.Bare); err != nil {
			return Failed(c.Name+", control", err)
		}
		if err := ours.Load(ctx, c.Workers, p.Turn, c.Ours); err != nil {
			return Failed(c.Name, err)
		}
		if c.Settle == nil {
			continue
		}
		if err := c.Settle(ctx); err != nil {
			return Failed(c.Name, err)
		}
	}
	return nil
}

// Failed tells which measurement an error ended.
func Failed(name string, err error) error { return fmt.Errorf("%s: %w", name, err) }
