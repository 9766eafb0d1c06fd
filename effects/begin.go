package effects

// This file lets an effect begin at the head of the log.

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/google/uuid"

	"linkledger/effects/outbox"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventlog"
)

// begin lets the effect begin at the head of the log, with the receivers that the log has made.
func (f *follower) begin(ctx context.Context, from checkpoint) error {
	head, err := f.cfg.Store.Head(ctx)
	if err != nil {
		return err
	}
	var at eventlog.Identity
	if head != (eventstore.Position{}) {
		if at, err = f.cfg.Store.IdentityAt(ctx, head); err != nil {
			return err
		}
		at.Position = head
	}
	receivers, err := f.registered(ctx, head)
	if err != nil {
		return err
	}
	f.cfg.Logger.InfoContext(ctx, "effect begins at the head of the log",
		slog.String("effect", f.effect.Name), slog.String("position", head.String()),
		slog.Int("receivers", len(receivers)))
	return begin(ctx, f.cfg.Pool, from, at, receivers)
}

// registered returns the receivers that the events up to a position have made.
func (f *follower) registered(
	ctx context.Context, upTo eventstore.Position,
) ([]outbox.Receiver, error) {
	plan, err := f.effect.Begin(ctx, nil)
	if err != nil {
		return nil, err
	}
	known := make(map[uuid.UUID]outbox.Receiver)
	err = eachSelected(ctx, f.cfg.Store, f.effect.Registers, upTo,
		func(r eventstore.Recorded) error {
			changes, err := plan(ctx, []eventstore.Recorded{r})
			for _, receiver := range changes.Set {
				known[receiver.ID] = receiver
			}
			for _, id := range changes.Remove {
				delete(known, id)
			}
			return err
		})
	receivers := make([]outbox.Receiver, 0, len(known))
	for _, r := range known {
		receivers = append(receivers, r)
	}
	return receivers, err
}

// eachSelected calls visit for the events that a filter selects, up to a position.
func eachSelected(
	ctx context.Context, store *eventstore.Store, filter eventstore.Filter,
	upTo eventstore.Position, visit func(eventstore.Recorded) error,
) error {
	if upTo == (eventstore.Position{}) {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	selected, err := store.Subscribe(ctx, eventstore.Position{}, filter)
	if err != nil {
		return err
	}
	defer selected.Close()
	for {
		next, err := selected.Next(ctx)
		switch {
		case err != nil:
			return fmt.Errorf("read the receivers: %w", err)
		case next.IsEvent && next.Event.Position.After(upTo), next.CaughtUp:
			return nil
		case !next.IsEvent:
			continue
		}
		if err := visit(next.Event); err != nil {
			return err
		}
	}
}
