// Package monitor observes the projections: how far each generation is and was, what is wrong with
// it, and whether its tables are as the log says. It MUST NOT change a projection.
package monitor

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"linkledger/events/eventstore"
	"linkledger/httpapi/console/page/words"
	"linkledger/projections"
	"linkledger/projections/engine/status"
	"linkledger/projections/readmodel"
)

// Config of a Monitor. All fields are required.
type Config struct {
	DB       *readmodel.DB
	Store    *eventstore.Store
	Patience time.Duration // how long a look waits for the event store
	Interval time.Duration // between samples while no page is open
}

// Monitor looks at the projections. It is safe for concurrent use.
type Monitor struct {
	cfg           Config
	samples       samples
	verifications *verifications
}

// New returns a monitor. It samples and verifies while Run runs.
func New(cfg Config) *Monitor { return &Monitor{cfg: cfg, verifications: newVerifications()} }

// Run samples the projections and runs the verifications that were asked for, until ctx ends.
func (m *Monitor) Run(ctx context.Context) {
	var sampling sync.WaitGroup
	sampling.Go(func() { m.sample(ctx) })
	defer sampling.Wait()
	m.runVerifications(ctx)
}

// Generation is a generation of a projection as pages show it.
type Generation struct {
	status.Overview

	Percent  int    // of the log that is applied
	Progress string // how far a build is, for people
	Behind   string // events that are not applied yet
	Since    string // how long the oldest event of Behind waits
}

// unknown is shown for values of the event store while the event store does not answer.
const unknown = "unknown"

// Problem returns what an operator should look at, or "".
func (g Generation) Problem() string {
	switch g.State {
	case status.Stopped:
		return "has stopped: " + g.LastError
	case status.Failing:
		return "fails, and tries again: " + g.LastError
	case status.Paused:
		return "is paused by an operator"
	case status.Unowned:
		return "is kept up to date by no process"
	case status.Misplaced:
		return "is at a position that the log does not have: rebuild it. " + g.LastError
	case status.CatchingUp:
		return "is behind by " + g.Since
	case status.Live, status.Kept, status.Building:
	}
	return ""
}

// State is the state of all projections.
type State struct {
	Generations []Generation
	Store       string // what is unknown, and why; empty: nothing is unknown
}

// Read reads the state of all projections. If the event store does not answer, the state says so.
func (m *Monitor) Read(ctx context.Context) (s State, err error) {
	found, err := status.Generations(ctx, m.cfg.DB)
	if err != nil {
		return s, err
	}
	asking, cancel := context.WithTimeout(ctx, m.cfg.Patience)
	defer cancel()
	head, err := m.cfg.Store.Head(asking)
	if err != nil {
		s.Store = "The event store does not answer: " + err.Error()
	} else if err := status.AddLag(asking, projections.All(), m.cfg.Store, found); err != nil {
		s.Store = "How far projections are behind is not known: " + err.Error()
	}
	for _, o := range found {
		s.Generations = append(s.Generations, newGeneration(o, head, s.Store == ""))
	}
	if s.Store == "" {
		m.samples.add(time.Now(), m.cfg.Interval, found)
	}
	return s, nil
}

func newGeneration(o status.Overview, head eventstore.Position, known bool) Generation {
	g := Generation{Overview: o, Progress: unknown, Behind: unknown, Since: unknown}
	if !known {
		return g
	}
	g.Percent = percent(o.Position.Commit, head.Commit)
	g.Behind, g.Since = words.Number(int64(o.LagEvents)), words.Duration(o.Lag)
	g.Progress = fmt.Sprintf("%d %% of the log · %s events/s · %s to go",
		g.Percent, words.Number(int64(math.Round(o.Rate))), g.Behind)
	if left := float64(o.LagEvents) / o.Rate; o.LagEvents > 0 && left < maxLeft.Seconds() {
		rest := time.Duration(left * float64(time.Second))
		g.Progress += ", about " + words.Duration(rest) + " left"
	}
	return g
}

// maxLeft is the longest remaining time that pages show, because the rate of a new build is
// unreliable.
const maxLeft = 30 * 24 * time.Hour

// Named names a generation, without its number if it serves.
func (g Generation) Named() string {
	if g.Serving {
		return g.Name
	}
	return fmt.Sprintf("generation %d of %s", g.Generation, g.Name)
}
