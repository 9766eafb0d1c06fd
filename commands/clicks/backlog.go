package clicks

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"linkledger/commands/clicks/spool"
)

const (
	// ratesInterval is how often the rates of the spool are measured.
	ratesInterval = time.Second
	// backlogInterval is how often a backlog is logged while there is one.
	backlogInterval = 10 * time.Second
)

// Backlog describes the clicks that wait in the spool, and how fast they leave it.
type Backlog struct {
	Groups int // appends of clicks
	Clicks int
	Bytes  int64         // on the disk
	Age    time.Duration // of the oldest click
	Rate   float64       // clicks a second that leave the spool now
	// Left is the time until the spool is empty at the present rates. It is 0 if the spool is
	// empty, or does not get emptier.
	Left time.Duration
}

// String describes the backlog in words.
func (b Backlog) String() string {
	if b.Groups == 0 {
		return "empty"
	}
	left := "does not get emptier"
	if b.Left > 0 {
		left = b.Left.Round(time.Second).String() + " left"
	}
	return fmt.Sprintf("%d clicks, %d bytes, the oldest from %s ago; %.0f a second leave, %s",
		b.Clicks, b.Bytes, b.Age.Round(time.Second), b.Rate, left)
}

// rates measures how fast clicks come into the spool and leave it.
type rates struct {
	mu              sync.Mutex
	at              time.Time // of the last measurement; zero: none
	drained, queued uint64    // counts since the start, at the last measurement
	out, in         float64   // clicks a second; each interval weighs as much as all earlier ones
}

// measure updates the rates from the counts since the start.
func (p *rates) measure(now time.Time, drained, queued uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if took := now.Sub(p.at).Seconds(); !p.at.IsZero() && took > 0 {
		p.out = (p.out + float64(drained-p.drained)/took) / 2
		p.in = (p.in + float64(queued-p.queued)/took) / 2
	}
	p.at, p.drained, p.queued = now, drained, queued
}

// backlog returns the backlog of the spool.
func (p *rates) backlog(queue spool.Stats, now time.Time) Backlog {
	if queue.Records == 0 {
		return Backlog{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	b := Backlog{
		Groups: queue.Records, Clicks: queue.Items, Bytes: queue.Bytes, Age: now.Sub(queue.Oldest),
		Rate: p.out,
	}
	if p.out > p.in {
		b.Left = time.Duration(float64(b.Clicks) / (p.out - p.in) * float64(time.Second))
	}
	return b
}

// watchBacklog measures the rates, and logs a backlog and a disk that takes no clicks, until ctx
// ends.
func (c *Recorder) watchBacklog(ctx context.Context) {
	again := time.NewTicker(ratesInterval)
	defer again.Stop()
	var since time.Time // of the last log line; zero: there is no backlog
	for {
		select {
		case now := <-again.C:
			c.rates.measure(now, c.drained.Load(), c.spooled.Load())
			since = c.logBacklog(ctx, now, since)
			trouble := c.cfg.Spool.Trouble()
			c.spoolTrouble.Store(&trouble)
			c.spoolDisk.Report(ctx, trouble)
		case <-ctx.Done():
			return
		}
	}
}

// logBacklog logs a new backlog, and every backlogInterval while it lasts. It returns the time of
// the last log line, or zero if there is no backlog.
func (c *Recorder) logBacklog(ctx context.Context, now, last time.Time) time.Time {
	b := c.Stats().Backlog
	switch {
	case b.Groups == 0 && last.IsZero():
		return last
	case b.Groups == 0:
		c.cfg.Logger.InfoContext(ctx, "the spool of clicks is empty again")
		return time.Time{}
	case now.Sub(last) < backlogInterval:
		return last
	}
	c.cfg.Logger.WarnContext(ctx, "clicks wait in the spool for the event store",
		slog.Int("clicks", b.Clicks), slog.Int64("bytes", b.Bytes),
		slog.Duration("oldest", b.Age.Round(time.Second)),
		slog.Float64("leaving_per_second", b.Rate),
		slog.Duration("left", b.Left.Round(time.Second)))
	return now
}
