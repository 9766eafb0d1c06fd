package projector

import (
	"context"
	"log/slog"

	"linkledger/projections/engine/generation"
	"linkledger/projections/readmodel"
)

// build completes a generation that has caught up, and makes it serve as soon as it has all events
// of the one that serves.
func (p *Projector) build(ctx context.Context, caughtUp bool) error {
	if caughtUp {
		if err := p.Complete(ctx); err != nil {
			return err
		}
	}
	if !p.complete {
		return nil
	}
	at, taken, err := generation.Switch(ctx, p.db.DB, p.store, p.projection.Filter, p.at)
	if err != nil || !taken {
		return err
	}
	p.at, p.building = at, false
	p.afterCommit(span{to: at.Position}, true, nil)
	p.logger.InfoContext(
		ctx, "generation has taken over", slog.String("projection", p.projection.Name),
		slog.Int("generation", at.Generation),
	)
	return nil
}

// Complete ends the bulk load: it writes all pending events, and creates indexes and derived
// tables.
func (p *Projector) Complete(ctx context.Context) error {
	if p.complete {
		return nil
	}
	if err := p.Settle(ctx); err != nil {
		return err
	}
	err := readmodel.Complete(ctx, p.db.DB, p.projection.Name, p.at.Generation, p.at.Confirm)
	if err == nil {
		p.bulk, p.complete = nil, true
	}
	return err
}

// TryTakeOver makes a complete generation serve although no batch arrives. It returns at once if a
// batch is being applied.
func (p *Projector) TryTakeOver(ctx context.Context) error {
	if !p.mu.TryLock() {
		return nil
	}
	defer p.mu.Unlock()
	if !p.building {
		return nil
	}
	return p.build(ctx, false)
}
