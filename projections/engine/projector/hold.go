package projector

import (
	"context"

	"linkledger/events/eventstore"
)

// Bounds of what is held.
const (
	maxBufferedBytes = 64 << 20 // bytes of the events: what has to be read again after a crash
	maxBufferedRows  = 50_000   // some 200 bytes each
)

// mayBuffer tells whether events that nobody waits for may be committed later.
func (p *Projector) mayBuffer() bool {
	return p.projection.Held && !p.bisectUntil.After(p.at.Position)
}

// buffer folds events that nobody waits for. They are committed with those that follow: many clicks
// of a link are one change of its counters by then, and take no more room than one. After a failure
// the subscription begins anew at the checkpoint.
func (p *Projector) buffer(
	ctx context.Context, recorded []eventstore.Recorded, to eventstore.Position,
) (err error) {
	defer func() { p.discardBuffered(to, err) }()
	defer recovered(&err)
	sorted := p.decode(recorded)
	if len(sorted.letters)+len(sorted.skipped) > 0 {
		return p.commit(ctx, recorded, to)
	}
	if p.pending == nil {
		p.pending = &pendingBatch{fold: p.folds.Next()}
	}
	if err := p.pending.add(recorded, sorted.events, to); err != nil {
		return err
	}
	if p.pending.size < maxBufferedBytes && p.pending.fold.Size() < maxBufferedRows {
		return nil
	}
	return p.commit(ctx, nil, to)
}

// discardBuffered forgets what was held where something failed. Up to there nothing is held any more: an
// event that can't be applied is found, and what takes too long goes on in smaller batches.
func (p *Projector) discardBuffered(to eventstore.Position, err error) {
	if err != nil {
		p.pending, p.bisectUntil = nil, to
	}
}
