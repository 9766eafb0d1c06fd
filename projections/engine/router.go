package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"linkledger/events/eventstore/subscription"
	"linkledger/projections/engine/generation"
	"linkledger/projections/engine/status"
)

// runRouter runs a router until ctx ends. It fails with ErrStopped if the router ends earlier.
func runRouter(ctx context.Context, router *message.Router) error {
	if err := router.Run(ctx); err != nil {
		return fmt.Errorf("projections: %w", err)
	}
	if ctx.Err() == nil { // watermill returns nil when its handlers end
		return ErrStopped
	}
	return nil
}

// reportOutcome returns a middleware that reports each batch and stores its outcome in the status.
// ErrFenced is not stored as a failure. The subscriber reads the checkpoint again, which shows
// whether another process owns the generation, or whether an outage hid the outcome of the commit.
func reportOutcome(
	status *status.Entry, report func(events int, took time.Duration, err error),
) message.HandlerMiddleware {
	return func(next message.HandlerFunc) message.HandlerFunc {
		return func(m *message.Message) ([]*message.Message, error) {
			began := time.Now()
			_, err := next(m)
			report(len(subscription.BatchOf(m).Events), time.Since(began), err)
			switch {
			case errors.Is(err, generation.ErrFenced):
				status.Refuse(nil)
				m.Nack()
				return nil, nil
			case err != nil && m.Context().Err() == nil: // otherwise the subscription has ended
				status.Refuse(err)
			}
			return nil, err
		}
	}
}

// routerLogger returns a logger for watermill that lowers its info messages to debug and keeps its
// errors.
func routerLogger(logger *slog.Logger) watermill.LoggerAdapter {
	return watermill.NewSlogLoggerWithLevelMapping(logger, map[slog.Level]slog.Level{
		slog.LevelInfo: slog.LevelDebug,
	})
}
