package projections

import (
	"context"
	"log/slog"

	"linkledger/projections/readmodel"
)

// build brings a generation that was caught up once to where readers can see it: it is completed, and takes over as soon
// as it has all that the one which serves has.
func (p *projector) build(ctx context.Context, caughtUp bool) error {
	if caughtUp {
		if err := p.completeOnce(ctx); err != nil {
			return err
		}
	}
	if !p.complete {
		return nil
	}
	at, taken, err := switchTo(ctx, p.db.DB, p.store, p.projection.filter, p.at)
	if err != nil || !taken {
		return err
	}
	p.at, p.building = at, false
	p.reached(stretch{to: at.position}, true, nil)
	p.logger.InfoContext(ctx, "generation has taken over", slog.String("projection", p.projection.name), slog.Int("generation", at.generation))
	return nil
}

// completeOnce ends the filling in bulk.
func (p *projector) completeOnce(ctx context.Context) error {
	if p.complete {
		return nil
	}
	if err := p.settle(ctx); err != nil {
		return err
	}
	err := readmodel.Complete(ctx, p.db.DB, p.projection.name, p.at.generation, p.at.confirm)
	if err == nil {
		p.bulk, p.complete = nil, true
	}
	return err
}

// goOnBuilding takes over when nothing happens in the log that would give occasion to. It does not wait for a batch.
func (p *projector) goOnBuilding(ctx context.Context) error {
	if !p.mu.TryLock() {
		return nil
	}
	defer p.mu.Unlock()
	if !p.building {
		return nil
	}
	return p.build(ctx, false)
}
