package engine

import (
	"context"
	"log/slog"
	"time"

	"linkledger/projections/engine/deadletter"
	"linkledger/projections/engine/failure"
	"linkledger/projections/engine/generation"
)

const (
	// DefaultRetryInterval is how often dead letters are tried again.
	DefaultRetryInterval = time.Minute
	// retriedStreams is how many streams are tried in one interval.
	retriedStreams = 100
)

// retry tries the dead letters of all streams again and again, while batches are applied. A new
// owner begins with a try, because it may run a version of the program that can apply them.
func (l *leaseholder) retry(ctx context.Context) {
	ticker := time.NewTicker(l.cfg.RetryInterval)
	defer ticker.Stop()
	for last := l.retrySome(ctx, ""); ; {
		if last == "" {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
		last = l.retrySome(ctx, last)
	}
}

// retrySome tries the dead letters of the streams whose names follow after, at most retriedStreams
// of them. It returns the last of these names, or the empty string if retry is to begin again with
// the first stream.
//
// If deadletter.Retry succeeds, it ends the lease. The next owner then continues without these dead
// letters.
func (l *leaseholder) retrySome(ctx context.Context, after string) (last string) {
	failed := func(err error) string {
		if ctx.Err() == nil {
			l.cfg.Logger.WarnContext(ctx, "dead letters not tried again",
				append(l.attributes(), slog.Any("error", err))...)
		}
		return ""
	}
	serving, err := generation.Serving(ctx, l.cfg.DB, l.at.Name)
	if err != nil {
		return failed(err)
	}
	if serving.Generation != l.at.Generation {
		return ""
	}
	streams, err := deadletter.StreamsAfter(ctx, l.cfg.DB, l.at, after, retriedStreams)
	if err != nil {
		return failed(err)
	}
	var mended []string
	for _, stream := range streams {
		err := deadletter.CanRetry(ctx, l.cfg.DB, l.projection, l.at, stream)
		if err == nil {
			mended = append(mended, stream)
		} else if !failure.OfEvent(err) {
			return failed(err)
		}
	}
	if err := l.apply(ctx, mended); err != nil {
		return failed(err)
	}
	if len(streams) < retriedStreams {
		return ""
	}
	return streams[len(streams)-1]
}

// apply applies the dead letters of streams. The first dead letter of each of these streams can be
// applied.
func (l *leaseholder) apply(ctx context.Context, streams []string) error {
	if len(streams) == 0 {
		return nil
	}
	n, err := deadletter.Retry(ctx, l.cfg.DB, l.projection, streams...)
	if failure.OfEvent(err) && n == 0 && len(streams) > 1 {
		for _, stream := range streams {
			if err := l.apply(ctx, []string{stream}); err != nil {
				return err
			}
		}
		return nil
	}
	if err != nil && !failure.OfEvent(err) {
		return err
	}
	if n > 0 {
		l.cfg.Logger.InfoContext(ctx, "dead letters applied", append(
			l.attributes(), slog.Any("streams", streams), slog.Int("events", n),
		)...)
	}
	return nil
}
