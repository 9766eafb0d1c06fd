package projector

import (
	"context"

	"linkledger/events/eventstore"
)

// Bounds of what is held.
const (
	maxHeld     = 64 << 20 // bytes of the events: what has to be read again after a crash
	maxHeldRows = 50_000   // some 200 bytes each
)

// mayHold tells whether events that nobody waits for may be committed later.
func (p *Projector) mayHold() bool {
	return p.projection.Held && !p.apart.After(p.at.Position)
}

// hold folds events that nobody waits for. They are committed with those that follow: many clicks
// of a link are one change of its counters by then, and take no more room than one. After a failure
// the subscription begins anew at the checkpoint.
func (p *Projector) hold(
	ctx context.Context, recorded []eventstore.Recorded, to eventstore.Position,
) (err error) {
	defer func() { p.letGo(to, err) }()
	defer recovered(&err)
	sorted := p.sortOut(recorded)
	if len(sorted.letters)+len(sorted.skipped) > 0 {
		return p.commit(ctx, recorded, to)
	}
	if p.gathered == nil {
		p.gathered = &gathered{fold: p.folds.Next()}
	}
	if err := p.gathered.add(recorded, sorted.facts, to); err != nil {
		return err
	}
	if p.gathered.size < maxHeld && p.gathered.fold.Size() < maxHeldRows {
		return nil
	}
	return p.commit(ctx, nil, to)
}

// letGo forgets what was held where something failed. Up to there nothing is held any more: an
// event that can't be applied is found, and what takes too long goes on in smaller batches.
func (p *Projector) letGo(to eventstore.Position, err error) {
	if err != nil {
		p.gathered, p.apart = nil, to
	}
}
