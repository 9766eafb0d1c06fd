package main

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// call does one thing that is measured, on the connection of a worker.
type call func(ctx context.Context, worker int) error

// sample is what the workers met.
type sample struct {
	elapsed   time.Duration
	latencies []time.Duration // one of each call
}

// load has all workers call, one call after the other, until the time is over, and adds what they met. Calls under way
// then are waited for; the first error ends all.
func (s *sample) load(ctx context.Context, workers int, duration time.Duration, do call) error {
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

// figures of a sample whose calls each did so many things.
func (s *sample) figures(each int) figures {
	slices.Sort(s.latencies)
	percentile := func(p int) float64 {
		return float64(s.latencies[(len(s.latencies)-1)*p/100]) / float64(time.Millisecond)
	}
	return figures{Rate: float64(len(s.latencies)*each) / s.elapsed.Seconds(), P50: percentile(50), P99: percentile(99)}
}

// comparison is a load on the program and on its control.
type comparison struct {
	name, unit    string
	control       string // what the control is
	workers, each int    // each call counts as so many
	ours, bare    call
	server        *child                      // whose memory is read
	settle        func(context.Context) error // waits for what ours leaves to be done, lest it be the control's burden; may be nil
}

// plan says how long is measured.
type plan struct {
	runs, turns int           // the program and its control take so many turns in each run
	turn        time.Duration // of either
}

// compare warms both up and has them take turns.
func (p plan) compare(ctx context.Context, c comparison) (result, error) {
	measured := result{Name: c.name, Unit: c.unit, Control: control{Name: c.control}}
	if err := p.takeTurns(ctx, c, 1, new(sample), new(sample)); err != nil { // the warm-up
		return result{}, err
	}
	if err := c.server.forgetPeak(); err != nil {
		return result{}, err
	}
	for range p.runs {
		var ours, bare sample
		if err := p.takeTurns(ctx, c, p.turns, &ours, &bare); err != nil {
			return result{}, err
		}
		measured.add(ours.figures(c.each), bare.figures(c.each))
	}
	peak, err := c.server.peak()
	measured.PeakMB = peak
	return measured, err
}

func (p plan) takeTurns(ctx context.Context, c comparison, turns int, ours, bare *sample) error {
	for range turns {
		if err := bare.load(ctx, c.workers, p.turn, c.bare); err != nil {
			return failed(c.name+", control", err)
		}
		if err := ours.load(ctx, c.workers, p.turn, c.ours); err != nil {
			return failed(c.name, err)
		}
		if c.settle == nil {
			continue
		}
		if err := c.settle(ctx); err != nil {
			return failed(c.name, err)
		}
	}
	return nil
}
