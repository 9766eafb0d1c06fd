package operators

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"linkledger/projections/engine/status"
)

// sample is the state of a projection at a time.
type sample struct {
	At     time.Time
	Behind int     // events that are not applied yet
	Rate   float64 // events per second
}

const (
	// maxSamples is how many samples of a projection are kept: those of 80 minutes, or of eight
	// minutes of looking.
	maxSamples = 240
	// lookInterval is the least time between two samples. Several pages may be looked at.
	lookInterval = 1500 * time.Millisecond
	// maxPause is the longest pause between two samples that a line joins.
	maxPause = time.Minute
	// maxListed is how many samples a page lists, the latest ones.
	maxListed = 45
)

// samples keeps how far projections were behind, and how fast they were, so that pages can draw it.
type samples struct {
	mu     sync.Mutex
	last   time.Time
	byName map[string][]sample // of generations that serve
}

// add adds the present state, unless there is a sample of just now.
func (s *samples) add(now time.Time, interval time.Duration, all []status.Overview) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.last) < min(lookInterval, interval) {
		return
	}
	if s.byName == nil || now.Sub(s.last) > maxPause {
		s.byName = make(map[string][]sample)
	}
	s.last = now
	for _, o := range all {
		if !o.Serving {
			continue
		}
		kept := s.byName[o.Name]
		kept = append(kept[max(0, len(kept)-maxSamples+1):], sample{now, o.LagEvents, o.Rate})
		s.byName[o.Name] = kept
	}
}

// sample adds a sample at each interval, until ctx ends.
func (h *Handler) sample(ctx context.Context) {
	rest := time.NewTicker(h.Interval)
	defer rest.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-rest.C:
			_, _ = h.read(ctx) // what fails leaves a gap, and pages tell of it
		}
	}
}

// of returns the samples of a projection, the oldest first.
func (s *samples) of(name string) []sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]sample(nil), s.byName[name]...)
}

// line is a line of a chart, in units of its view box.
type line struct {
	Width, Height int
	Points        string
	Most          int
}

// The size of a chart.
const (
	lineWidth  = 360
	lineHeight = 80
)

// newLine returns the line of what samples have: what is behind, or the rate.
func newLine(all []sample, what string) line {
	l := line{Width: lineWidth, Height: lineHeight}
	value := func(s sample) float64 {
		if what == "rate" {
			return s.Rate
		}
		return float64(s.Behind)
	}
	most := 0.0
	for _, s := range all {
		most = max(most, value(s))
	}
	l.Most = int(math.Ceil(most))
	first := all[0].At
	span := max(all[len(all)-1].At.Sub(first), time.Second)
	var points strings.Builder
	for _, s := range all {
		x := lineWidth * float64(s.At.Sub(first)) / float64(span)
		y := float64(lineHeight - 1)
		if most > 0 {
			y -= (lineHeight - 2) * value(s) / most
		}
		fmt.Fprintf(&points, "%.1f,%.1f ", x, y)
	}
	l.Points = strings.TrimSpace(points.String())
	return l
}
