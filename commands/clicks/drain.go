package clicks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/sync/errgroup"

	"linkledger/commands/clicks/spool"
	"linkledger/events/eventstore"
)

const (
	// drainBatch is how much of the spool is in memory while it drains, in bytes.
	drainBatch = 4 << 20
	// drainProbe replaces drainBatch after a failure, so that another try costs little.
	drainProbe = 64 << 10
	// drainAppend is how much of the spool goes into one append, in bytes. Each append costs a
	// round trip, but a larger append would make new clicks wait for the event store's disk.
	drainAppend = 768 << 10
	// drainStreams is how many streams drain at a time.
	drainStreams = 4
)

// drain moves the spool to the event store until ctx ends.
func (c *Recorder) drain(ctx context.Context) {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = 20*time.Millisecond, 250*time.Millisecond
	bytes := int64(drainProbe)
	for {
		err := c.drainOldest(ctx, bytes)
		bytes = drainProbe
		switch {
		case err == nil:
			wait.Reset()
			bytes = drainBatch
			c.drainErr.Store(nil)
			continue
		case errors.Is(err, spool.ErrEmpty):
			c.spooling.Store(false)
			select {
			case <-c.cfg.Spool.Arrived():
			case <-ctx.Done():
				return
			}
			continue
		case ctx.Err() != nil:
			return
		case !errors.Is(err, eventstore.ErrUnavailable):
			c.noteDrainError(ctx, err)
		}
		select {
		case <-time.After(wait.NextBackOff()):
		case <-ctx.Done():
			return
		}
	}
}

// drainOldest sends the oldest appends again: several streams at a time, each stream in order. If
// an append fails, all these appends stay in the spool.
func (c *Recorder) drainOldest(ctx context.Context, bytes int64) error {
	oldest, err := c.cfg.Spool.Oldest(bytes)
	if err != nil {
		return err
	}
	streams, err := byStream(oldest.Bodies)
	if err != nil {
		return err
	}
	var diverted atomic.Int64
	draining, drainCtx := errgroup.WithContext(ctx)
	draining.SetLimit(drainStreams)
	for _, appends := range streams {
		draining.Go(func() error {
			for _, writes := range appends {
				n, err := c.deliver(drainCtx, writes)
				diverted.Add(int64(n))
				if err != nil {
					return fmt.Errorf("drain the spool: %w", err)
				}
			}
			return nil
		})
	}
	if err := draining.Wait(); err != nil {
		return err
	}
	if n := diverted.Load(); n > 0 {
		c.cfg.Logger.WarnContext(ctx, "streams of clicks were changed by another writer, "+
			"their clicks go to new streams",
			slog.Int64("appends", n))
	}
	if err := c.cfg.Spool.Remove(oldest); err != nil {
		return err
	}
	c.drained.Add(uint64(oldest.Items)) //nolint:gosec // a count
	return nil
}

// byStream returns, for each stream, the appends to make, in order. Each of them is a list of
// spooled appends to join.
func byStream(bodies [][]byte) (map[string][][]pendingAppend, error) {
	type last struct {
		next eventstore.Revision // revision that the next spooled append must expect to join
		size int
	}
	streams, ends := make(map[string][][]pendingAppend), make(map[string]last)
	for _, body := range bodies {
		w, err := decodeSpooled(body)
		if err != nil {
			return nil, fmt.Errorf("spooled clicks: %w", err)
		}
		appends, end := streams[w.Stream], ends[w.Stream]
		if len(appends) == 0 || w.Expected != end.next || end.size+len(body) > drainAppend {
			appends, end.size = append(appends, nil), 0
		}
		appends[len(appends)-1] = append(appends[len(appends)-1], w)
		streams[w.Stream], ends[w.Stream] = appends, last{w.Expected + 1, end.size + len(body)}
	}
	return streams, nil
}

// deliver joins spooled appends, which follow each other in one stream, into one append. diverted
// is how many of them another writer has interfered with: they went to a new stream, because the
// writer has written to their stream or deleted it, or the writer has deleted events before them.
func (c *Recorder) deliver(ctx context.Context, writes []pendingAppend) (diverted int, err error) {
	err = c.appendJoined(ctx, writes)
	switch {
	case errors.Is(err, eventstore.ErrWrongRevision), errors.Is(err, eventstore.ErrStreamDeleted):
		if len(writes) == 1 {
			return 1, c.appendJoined(ctx, []pendingAppend{writes[0].diverted()})
		}
		// The event store may have the first of them already, from before a crash. It recognizes a
		// repeated append only as a whole, so each half is tried alone.
		half := len(writes) / 2
		first, err := c.deliver(ctx, writes[:half])
		if err != nil {
			return first, err
		}
		second, err := c.deliver(ctx, writes[half:])
		return first + second, err
	case errors.Is(err, eventstore.ErrCut):
		// The clicks are stored, but another writer has deleted the events before them.
		return len(writes), nil
	}
	return 0, err
}

// noteDrainError notes why the spool does not drain, and logs a new reason.
func (c *Recorder) noteDrainError(ctx context.Context, err error) {
	before := c.drainErr.Swap(&err)
	if before == nil || (*before).Error() != err.Error() {
		c.cfg.Logger.ErrorContext(ctx, "the spool of clicks does not drain", slog.Any("error", err))
	}
}
