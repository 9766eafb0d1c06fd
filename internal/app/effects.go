package app

// This file runs the effects, over connections of their own.

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"linkledger/effects"
)

// effectConns is how many connections to the database the effects use. Projections wait for none of
// them.
const effectConns = 4

// runEffects delivers to webhooks until ctx ends. It begins when logChecked is closed. owner is the
// name whose presence lock this process holds for its projections.
func (s *Service) runEffects(
	ctx context.Context, owner string, logChecked <-chan struct{},
) error {
	select {
	case <-logChecked:
	case <-ctx.Done():
		return nil
	}
	cfg := s.db.Writers.Config()
	cfg.MinConns, cfg.MaxConns = 0, effectConns
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return fmt.Errorf("connections of effects: %w", err)
	}
	defer pool.Close()
	effects.Run(ctx, s.Deliveries, effects.Config{
		Pool: pool, Store: s.Store, Owner: owner, CatchUp: effects.CatchUp(s.cfg.Effects),
		Logger: s.logger,
	})
	return nil
}
