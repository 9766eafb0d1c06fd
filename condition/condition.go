// Package condition logs conditions that last. It writes a line when a condition begins, one a
// minute while it lasts, and one when it has ended.
package condition

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// interval is the least time between two lines about a condition that lasts.
const interval = time.Minute

// Log logs one condition. It is safe for concurrent use.
type Log struct {
	logger      *slog.Logger
	begin, over string // messages

	mu     sync.Mutex
	began  time.Time // zero: the condition does not hold
	logged time.Time // when the last line was written
	missed int       // reports since then that wrote no line
}

// New returns a Log. begin is the message while the condition holds. over is the message when the
// condition has ended.
func New(logger *slog.Logger, begin, over string) *Log {
	return &Log{logger: logger, begin: begin, over: over}
}

// Report takes the result of a check of the condition. err is the cause of the condition, or nil if
// the condition does not hold. Report may be called after every check, because it logs a condition
// that lasts only once a minute. attributes are added to the lines.
func (l *Log) Report(ctx context.Context, err error, attributes ...slog.Attr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	switch {
	case err == nil && l.began.IsZero():
	case err == nil:
		lasted := slog.Duration("lasted", now.Sub(l.began).Round(time.Millisecond))
		//nolint:sloglint // a constant of the caller
		l.logger.LogAttrs(ctx, slog.LevelInfo, l.over, append(attributes, lasted)...)
		l.began, l.logged, l.missed = time.Time{}, time.Time{}, 0
	case now.Sub(l.logged) < interval:
		l.missed++
	default:
		attributes = append(attributes, slog.Any("error", err))
		if l.began.IsZero() {
			l.began = now
		} else {
			attributes = append(attributes, slog.Int("again", l.missed),
				slog.Duration("for", now.Sub(l.began).Round(time.Second)))
		}
		//nolint:sloglint // a constant of the caller
		l.logger.LogAttrs(ctx, slog.LevelError, l.begin, attributes...)
		l.logged, l.missed = now, 0
	}
}
