package monitor

import (
	"context"
	"slices"
	"sync"
	"time"

	"linkledger/projections/engine/status"
)

// Sample is the state of a projection at a time.
type Sample struct {
	At     time.Time
	Behind int     // events that are not applied yet
	Rate   float64 // events per second
}

const (
	// maxSamples is how many samples of a projection are kept: 80 minutes of samples, or eight
	// minutes while a page is open.
	maxSamples = 240
	// lookInterval is the least time between two samples. Several open pages share the samples.
	lookInterval = 1500 * time.Millisecond
	// maxPause is the longest pause between two samples that a line joins.
	maxPause = time.Minute
)

// samples keeps how far projections were behind, and how fast they were, so that pages can draw
// charts.
type samples struct {
	mu     sync.Mutex
	last   time.Time
	byName map[string][]Sample // of generations that serve
}

// add adds the present state, unless the last sample is too recent.
func (s *samples) add(now time.Time, interval time.Duration, all []status.Overview) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.last) < min(lookInterval, interval) {
		return
	}
	if s.byName == nil || now.Sub(s.last) > maxPause {
		s.byName = make(map[string][]Sample)
	}
	s.last = now
	for _, o := range all {
		if !o.Serving {
			continue
		}
		kept := s.byName[o.Name]
		kept = append(kept[max(0, len(kept)-maxSamples+1):], Sample{now, o.LagEvents, o.Rate})
		s.byName[o.Name] = kept
	}
}

// sample adds a sample at each interval, until ctx ends.
func (m *Monitor) sample(ctx context.Context) {
	rest := time.NewTicker(m.cfg.Interval)
	defer rest.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-rest.C:
			_, _ = m.Read(ctx) // a failure leaves a gap, and pages show it
		}
	}
}

// Samples returns the samples of the serving generation of a projection, the oldest first.
func (m *Monitor) Samples(name string) []Sample {
	m.samples.mu.Lock()
	defer m.samples.mu.Unlock()
	return slices.Clone(m.samples.byName[name])
}
