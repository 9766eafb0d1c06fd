package main

import (
	"context"
	"log/slog"

	"linkledger/commands/accounts"
	"linkledger/commands/domain"
	"linkledger/events/eventstore"
	"linkledger/projections"
)

// accountErase ends an account and makes its notes unreadable.
type accountErase struct {
	target
	Username string `arg:"" help:"User name of the account."`
}

// Run implements the command.
func (c *accountErase) Run(ctx context.Context, p *process) error {
	if err := c.locate(); err != nil {
		return err
	}
	return c.change(ctx, p, func(ctx context.Context, a *accounts.Accounts, r domain.Request) (accounts.Outcome, error) {
		outcome, err := a.Erase(ctx, r, c.Username)
		if err == nil {
			c.awaitErasure(ctx, p, outcome.Position)
		}
		return outcome, err
	})
}

// awaitErasure returns when no table has a note of the account any more, or says where it still is.
func (c *accountErase) awaitErasure(ctx context.Context, p *process, position eventstore.Position) {
	db, err := c.openReadModels(ctx, 1)
	if err != nil {
		p.logger.WarnContext(ctx, "erased, but whether the read models are too is not known", slog.Any("error", err))
		return
	}
	behind, err := projections.AwaitErasure(ctx, db, position)
	if err != nil {
		p.logger.WarnContext(ctx, "erased, but these generations still have notes: a projector erases them, or projections prune removes them",
			slog.Any("generations", behind), slog.Any("error", err))
	}
	_ = db.Close() // nothing was written
}
