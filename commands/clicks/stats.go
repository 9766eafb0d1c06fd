package clicks

import (
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// lossInterval is the least time between two log lines about losses.
const lossInterval = 10 * time.Second

// losses counts the clicks that neither the event store nor the spool could take.
type losses struct {
	mu     sync.Mutex
	clicks uint64
	last   time.Time
	logged time.Time
	err    error
}

// countLost counts lost clicks. The redirects are answered all the same.
func (c *Recorder) countLost(clicks int, err error) {
	c.losses.mu.Lock()
	defer c.losses.mu.Unlock()
	c.losses.clicks += uint64(clicks) //nolint:gosec // a length
	c.losses.last, c.losses.err = time.Now(), err
	if time.Since(c.losses.logged) > lossInterval {
		c.losses.logged = c.losses.last
		c.cfg.Logger.Error("clicks are lost: neither the event store nor the spool can take them",
			slog.Uint64("lost_since_start", c.losses.clicks), slog.Any("error", err))
	}
}

// Stats counts the clicks of this process.
type Stats struct {
	Recorded uint64 // in the event store, also by way of the spool
	Spooled  uint64 // put into the spool
	Drained  uint64 // moved from the spool to the event store
	Lost     uint64 // neither the event store nor the spool could take them
	Backlog  Backlog
}

// Stats returns the counts so far.
func (c *Recorder) Stats() Stats {
	c.losses.mu.Lock()
	lost := c.losses.clicks
	c.losses.mu.Unlock()
	stats := Stats{
		Recorded: c.recorded.Load(), Spooled: c.spooled.Load(), Drained: c.drained.Load(),
		Lost: lost,
	}
	if c.cfg.Spool != nil {
		stats.Backlog = c.rates.backlog(c.cfg.Spool.Stats(), time.Now())
	}
	return stats
}

// Health returns an error if an operator must act: clicks were lost within the last minute, or the
// spool does not drain although the event store answers.
func (c *Recorder) Health() error {
	c.losses.mu.Lock()
	lost, last, cause := c.losses.clicks, c.losses.last, c.losses.err
	c.losses.mu.Unlock()
	if cause != nil && time.Since(last) < time.Minute {
		return fmt.Errorf(
			"%d clicks were lost since the start, the last at %s: %w", lost,
			last.UTC().Format(time.RFC3339), cause,
		)
	}
	if err := c.drainErr.Load(); err != nil {
		return *err
	}
	return nil
}

// SpoolTrouble returns why the spool took no clicks at the last check, about a second ago. It
// returns nil if the spool took clicks, or if there is no spool. Clicks are lost only if the event
// store takes none either.
func (c *Recorder) SpoolTrouble() error {
	if trouble := c.spoolTrouble.Load(); trouble != nil {
		return *trouble
	}
	return nil
}
