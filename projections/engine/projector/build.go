package projector

import (
	"context"
	"log/slog"

	"linkledger/projections/engine/generation"
	"linkledger/projections/readmodel"
)

// build brings a generation that was caught up once to where readers can see it: it is completed,
// and takes over as soon as it has all that the one which serves has.
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

// Complete ends the filling in bulk.
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

// TryTakeOver takes over when nothing happens in the log that would give occasion to. It does not
// wait for a batch.
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
