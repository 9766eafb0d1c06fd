package engine

import (
	"context"
	"log/slog"
	"time"

	"linkledger/projections/engine/deadletter"
	"linkledger/projections/engine/generation"
	"linkledger/projections/engine/projector"
)

// Policy says when the events of a stream that are set aside are tried again. Each new owner of a
// projection tries them once, because it may be of another version.
type Policy string

const (
	// Stop stops the stream until its events can be applied: the owner tries them regularly.
	Stop Policy = "stop"
	// Park leaves the stream to an operator.
	Park Policy = "park"
)

const (
	// DefaultRetryInterval is how often the policy Stop tries dead letters again.
	DefaultRetryInterval = time.Minute
	// retriedStreams is how many streams are tried in one interval.
	retriedStreams = 100
)

// retryRegularly tries dead letters again under the policy Stop.
func (l *leaseholder) retryRegularly(ctx context.Context) {
	if l.cfg.Policy == Park {
		return
	}
	ticker := time.NewTicker(l.cfg.RetryInterval)
	defer ticker.Stop()
	for last := ""; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			last = l.retrySome(ctx, last)
		}
	}
}

// retryAll tries the dead letters of all streams.
func (l *leaseholder) retryAll(ctx context.Context) {
	for last := l.retrySome(ctx, ""); last != ""; {
		last = l.retrySome(ctx, last)
	}
}

// retrySome tries the dead letters of the next streams after one, in the order of their names. It
// returns the last of them, or the empty string if there are no more.
//
// deadletter.Retry ends the lease if it succeeds, so this process is elected again and goes on
// without these dead letters.
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
	for _, stream := range streams {
		n, err := deadletter.Retry(ctx, l.cfg.DB, l.projection, stream)
		if err != nil && !projector.OfEvent(err) {
			return failed(err)
		}
		if n > 0 {
			l.cfg.Logger.InfoContext(ctx, "dead letters applied", append(
				l.attributes(), slog.String("stream", stream), slog.Int("events", n),
			)...)
		}
	}
	if len(streams) < retriedStreams {
		return ""
	}
	return streams[len(streams)-1]
}
