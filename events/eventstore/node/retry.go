package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"

	"linkledger/events/eventstore/eventlog"
	"linkledger/waiting"
)

// Retry repeats an operation while it returns ErrUnavailable, until ctx ends or the event store is
// lost (see waiting.LostError). It does not repeat an operation that returns ErrRefusesWrites. The
// context of the operation ends when ctx ends or the event store is lost.
func Retry[T any](
	ctx context.Context, logger *slog.Logger, store *waiting.Dependency,
	op func(context.Context) (T, error),
) (value T, err error) {
	ctx, end := store.Bind(ctx)
	defer end()
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = 5*time.Millisecond, 250*time.Millisecond
	for {
		if lost := store.Lost(); lost != nil {
			return value, fmt.Errorf("%w: %w", eventlog.ErrUnavailable, lost)
		}
		store.Asked()
		value, err = op(ctx)
		if !errors.Is(err, eventlog.ErrUnavailable) ||
			errors.Is(err, eventlog.ErrRefusesWrites) {
			store.Answered()
			return value, err
		}
		delay := wait.NextBackOff()
		logger.DebugContext(
			ctx, "event store unavailable, trying again", slog.Any("error", err),
			slog.Duration("in", delay),
		)
		select {
		case <-ctx.Done():
			if lost := store.Lost(); lost != nil {
				err = fmt.Errorf("%w: %w", eventlog.ErrUnavailable, lost)
			}
			return value, err
		case <-time.After(delay):
		}
	}
}
