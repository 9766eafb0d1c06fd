package projector

import (
	"context"
	"log/slog"

	"linkledger/projections/engine/generation"
	"linkledger/projections/readmodel"
)

// phase is the progress of a generation. It only ever advances.
type phase int

const (
	filling  phase = iota // it may lack indexes and derived tables
	complete              // it lacks at most the latest events
	serving               // readers see it
)

// build completes a generation that has caught up, and makes it serve as soon as it has all events
// of the one that serves.
func (p *Projector) build(ctx context.Context, caughtUp bool) error {
	if caughtUp {
		if err := p.Complete(ctx); err != nil {
			return err
		}
	}
	if p.phase != complete {
		return nil
	}
	at, taken, err := generation.Switch(
		ctx, p.cfg.DB.DB, p.cfg.Store, p.cfg.Definition.Filter, p.at,
	)
	if err != nil || !taken {
		return err
	}
	p.at, p.phase = at, serving
	p.afterCommit(span{to: at.Position}, true, nil)
	p.cfg.Logger.InfoContext(
		ctx, "generation has taken over", slog.String("projection", p.cfg.Definition.Name),
		slog.Int("generation", at.Generation),
	)
	return nil
}

// Complete ends the bulk load: it writes all pending events, and creates indexes and derived
// tables.
func (p *Projector) Complete(ctx context.Context) error {
	if p.phase != filling {
		return nil
	}
	if err := p.Settle(ctx); err != nil {
		return err
	}
	err := readmodel.Complete(
		ctx, p.cfg.DB.DB, p.cfg.Definition.Name, p.at.Generation, p.at.Confirm,
	)
	if err == nil {
		p.bulk, p.phase = nil, complete
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
	if p.phase == serving {
		return nil
	}
	return p.build(ctx, false)
}
