// Package clockcheck compares the clock of this machine with the clocks of the event store and of
// the database. A node with a wrong clock would write wrong times that the other nodes follow, and
// count clicks and quotas on wrong days.
package clockcheck

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"linkledger/condition"
	"linkledger/events"
)

const (
	// interval is how often the clocks are compared.
	interval = 10 * time.Second
	// timeout bounds each comparison.
	timeout = 2 * time.Second
)

// Clock is a clock to compare with.
type Clock struct {
	Name string // whose clock it is, in a sentence
	// Now returns the time of the clock. A zero time means that the time is not known.
	Now func(context.Context) (time.Time, error)
}

// Checker compares clocks regularly. It is safe for concurrent use.
type Checker struct {
	clocks  []Clock
	now     func() time.Time
	log     *condition.Log
	problem atomic.Pointer[error]
}

// New returns a Checker that has compared nothing yet.
func New(logger *slog.Logger, now func() time.Time, clocks ...Clock) *Checker {
	return &Checker{
		clocks: clocks, now: now,
		log: condition.New(
			logger, "the clocks differ, so this node serves nothing: correct them",
			"the clocks agree again",
		),
	}
}

// Problem returns an error if a clock differs from the one of this machine by more than
// events.MaxLead. It returns nil if no clock is known to do so.
func (c *Checker) Problem() error {
	if problem := c.problem.Load(); problem != nil {
		return *problem
	}
	return nil
}

// Run compares the clocks until ctx ends.
func (c *Checker) Run(ctx context.Context) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		c.Check(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// Check compares the clocks once. If a clock does not answer, a known problem stays, because that
// clock may be the one that differs.
func (c *Checker) Check(ctx context.Context) {
	var differ []error
	for _, clock := range c.clocks {
		by, err := c.lead(ctx, clock)
		switch {
		case err != nil && c.Problem() != nil:
			return
		case err != nil:
		case by > events.MaxLead:
			differ = append(differ, fmt.Errorf(
				"this machine's clock is ahead of the clock of %s by %s",
				clock.Name, by.Round(time.Second)))
		case by < -events.MaxLead:
			differ = append(differ, fmt.Errorf(
				"this machine's clock is behind the clock of %s by %s",
				clock.Name, -by.Round(time.Second)))
		}
	}
	problem := errors.Join(differ...)
	if problem == nil {
		c.problem.Store(nil)
	} else {
		c.problem.Store(&problem)
	}
	c.log.Report(ctx, problem)
}

// lead returns by how much the clock of this machine is ahead of another clock. It assumes that the
// other clock was read halfway through the call.
func (c *Checker) lead(ctx context.Context, clock Clock) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	before := c.now()
	other, err := clock.Now(ctx)
	if err != nil || other.IsZero() {
		return 0, err
	}
	return before.Add(c.now().Sub(before) / 2).Sub(other), nil
}
