package clicks

import (
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// lossInterval is how often losses are logged while they go on.
const lossInterval = 10 * time.Second

// spoolAppend puts an append into the spool.
func (c *Recorder) spoolAppend(w pendingAppend) error {
	body, err := w.encode()
	if err == nil {
		err = c.cfg.Spool.Append(body, len(w.Clicks))
	}
	if err != nil {
		c.current = stream{} // its next revision will never be written
		return err
	}
	c.current.spooled = true
	c.spooling.Store(true)
	c.spooled.Add(uint64(len(w.Clicks)))
	return nil
}

// losses counts clicks that nothing could take.
type losses struct {
	mu     sync.Mutex
	clicks uint64
	last   time.Time
	logged time.Time
	err    error
}

// countLost counts clicks that are lost, for the visitors shall get where they want to all the same.
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

// Stats tells what became of the clicks of this process.
type Stats struct {
	Recorded uint64 // in the event store, those included that the spool has brought there
	Spooled  uint64 // have gone to the spool
	Drained  uint64 // have left the spool for the event store
	Lost     uint64 // nothing could take them
	Backlog  Backlog
}

// Stats returns what became of the clicks so far.
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

// Health returns what an operator has to mend: clicks that were lost within the last minute, or a
// spool that does not drain though the event store answers.
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
