package node

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"

	"linkledger/events/eventstore/eventlog"
)

// Retry repeats an operation until it returns something other than ErrUnavailable, or until ctx
// ends. It does not repeat what the event store has refused with ErrRefusesWrites.
func Retry[T any](ctx context.Context, logger *slog.Logger, op func() (T, error)) (T, error) {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = 5*time.Millisecond, 250*time.Millisecond
	for {
		value, err := op()
		if !errors.Is(err, eventlog.ErrUnavailable) ||
			errors.Is(err, eventlog.ErrRefusesWrites) {
			return value, err
		}
		delay := wait.NextBackOff()
		logger.DebugContext(
			ctx, "event store unavailable, trying again", slog.Any("error", err),
			slog.Duration("in", delay),
		)
		select {
		case <-ctx.Done():
			return value, err
		case <-time.After(delay):
		}
	}
}
