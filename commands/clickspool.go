package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"linkledger/commands/spool"
	"linkledger/events/eventstore"
)

// lossInterval is how often losses are logged while they go on.
const lossInterval = 10 * time.Second

// keep puts an append into the spool.
func (c *Clicks) keep(w clickWrite) error {
	body, err := json.Marshal(w)
	if err == nil {
		err = c.cfg.Spool.Append(body)
	}
	if err != nil {
		c.target = clickStream{} // its next revision will never be written
		return err
	}
	c.target.queue = true
	c.behind.Store(true)
	c.spooled.Add(uint64(len(w.Clicks)))
	return nil
}

// drain repeats the appends of the spool in their order, each until the event store has it.
func (c *Clicks) drain(ctx context.Context) {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = 20*time.Millisecond, time.Second
	for {
		start := time.Now()
		err := c.drainOne(ctx)
		switch {
		case err == nil:
			wait.Reset()
			c.drainErr.Store(nil)
			if time.Since(start) < c.cfg.Patience {
				c.behind.Store(false)
			}
			continue
		case errors.Is(err, spool.ErrEmpty):
			c.behind.Store(false)
			select {
			case <-c.cfg.Spool.Arrived():
			case <-ctx.Done():
				return
			}
			continue
		case ctx.Err() != nil:
			return
		case !errors.Is(err, eventstore.ErrUnavailable):
			c.stuck(ctx, err)
		}
		select {
		case <-time.After(wait.NextBackOff()):
		case <-ctx.Done():
			return
		}
	}
}

// drainOne repeats the oldest append.
func (c *Clicks) drainOne(ctx context.Context) error {
	body, err := c.cfg.Spool.Oldest()
	if err != nil {
		return err
	}
	var w clickWrite
	if err := json.Unmarshal(body, &w); err != nil {
		return fmt.Errorf("spooled clicks: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, clickTimeout)
	defer cancel()
	err = c.appendOnce(ctx, w)
	if errors.Is(err, eventstore.ErrWrongRevision) || errors.Is(err, eventstore.ErrCut) {
		c.cfg.Logger.WarnContext(ctx, "somebody else has changed a stream of clicks, which go to another one", slog.String("stream", w.Stream))
		err = c.appendOnce(ctx, w.elsewhere())
	}
	if err != nil {
		return fmt.Errorf("drain the spool: %w", err)
	}
	return c.cfg.Spool.Remove(body)
}

// stuck notes why the spool does not drain, and logs it when that is news.
func (c *Clicks) stuck(ctx context.Context, err error) {
	before := c.drainErr.Swap(&err)
	if before == nil || (*before).Error() != err.Error() {
		c.cfg.Logger.ErrorContext(ctx, "the spool of clicks does not drain", slog.Any("error", err))
	}
}

// losses counts clicks that nothing could take.
type losses struct {
	mu     sync.Mutex
	clicks uint64
	last   time.Time
	logged time.Time
	err    error
}

// lose counts clicks that are lost, for the visitors shall get where they want to all the same.
func (c *Clicks) lose(clicks int, err error) {
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

// ClicksStats tells what became of the clicks of this process.
type ClicksStats struct {
	Recorded uint64 // in the event store, those included that the spool has brought there
	Spooled  uint64 // have gone to the spool
	Lost     uint64 // nothing could take them
	Spool    spool.Stats
}

// Stats returns what became of the clicks so far.
func (c *Clicks) Stats() ClicksStats {
	c.losses.mu.Lock()
	defer c.losses.mu.Unlock()
	stats := ClicksStats{Recorded: c.recorded.Load(), Spooled: c.spooled.Load(), Lost: c.losses.clicks}
	if c.cfg.Spool != nil {
		stats.Spool = c.cfg.Spool.Stats()
	}
	return stats
}

// Health returns what an operator has to mend: clicks that were lost within the last minute, or a spool that does not
// drain though the event store answers.
func (c *Clicks) Health() error {
	c.losses.mu.Lock()
	lost, last, cause := c.losses.clicks, c.losses.last, c.losses.err
	c.losses.mu.Unlock()
	if cause != nil && time.Since(last) < time.Minute {
		return fmt.Errorf("%d clicks were lost since the start, the last at %s: %w", lost, last.UTC().Format(time.RFC3339), cause)
	}
	if err := c.drainErr.Load(); err != nil {
		return *err
	}
	return nil
}
