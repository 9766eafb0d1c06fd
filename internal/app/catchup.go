package app

// This file waits until the read models show the log.

import (
	"context"
	"fmt"

	"linkledger/events/eventstore"
	"linkledger/projections"
	"linkledger/waiting"
)

// CatchUp waits until the read models have the tables of this version, and show the log up to a
// position. The log MUST have had the position before Run was called. The reason is that Run lets
// each projection catch up, and that moves its checkpoint to the end of the log. After that, events
// that no projection follows need not move a checkpoint, so CatchUp could wait for them in vain.
func (s *Service) CatchUp(ctx context.Context, to eventstore.Position) error {
	select {
	case <-s.served:
	case <-ctx.Done():
		return ctx.Err()
	}
	return s.awaitProjections(ctx, to, projections.Links, projections.Tags, projections.Accounts)
}

func (s *Service) awaitProjections(
	ctx context.Context, to eventstore.Position, names ...string,
) error {
	for _, projection := range names {
		if err := waiting.During(ctx, "projection "+projection,
			func(context.Context) error { return fmt.Errorf("it is not at position %s yet", to) },
			func(ctx context.Context) error { return s.Waiter.Wait(ctx, projection, to.Commit) },
		); err != nil {
			return fmt.Errorf("wait for the projection %s: %w", projection, err)
		}
	}
	return nil
}

// HoldUntil makes Run serve no request before all read models show the log up to a position. When
// they do, Run calls done and then serves. The log MUST have had the position before Run was
// called, as for CatchUp. HoldUntil MUST be called before Run.
func (s *Service) HoldUntil(to eventstore.Position, done func() error) {
	s.building.Store(true)
	s.held = func(ctx context.Context) error {
		if err := s.CatchUp(ctx, to); err != nil {
			return err
		}
		if err := s.awaitProjections(ctx, to, projections.Names()...); err != nil {
			return err
		}
		return done()
	}
}
