package projector

import (
	"context"

	"linkledger/events/eventstore"
	"linkledger/projections/engine/failure"
)

// Bounds of the buffer.
const (
	maxBufferedBytes = 64 << 20 // size of the events, which are read again after a crash
	maxBufferedRows  = 50_000   // about 200 bytes each
)

// mayBuffer reports whether events of a batch that is Held may be committed later.
func (p *Projector) mayBuffer() bool {
	return p.cfg.Definition.Buffered && !p.bisectUntil.After(p.at.Position)
}

// buffer folds events of a batch that is Held, and commits them with later events. Many clicks of a
// link become one change of its counters, which takes no more memory than one click. After a
// failure the subscription starts again at the checkpoint.
func (p *Projector) buffer(
	ctx context.Context, recorded []eventstore.Recorded, to eventstore.Position,
) (err error) {
	defer func() { p.discardBuffered(to, err) }()
	defer failure.Recovered(&err)
	decoded := p.sort(recorded)
	if len(decoded.Letters)+len(decoded.Skipped) > 0 {
		return p.commit(ctx, recorded, to)
	}
	if p.pending == nil {
		p.pending = &pendingBatch{fold: p.folds.Next()}
	}
	if err := p.pending.add(recorded, decoded.Events, to); err != nil {
		return err
	}
	if p.pending.size < maxBufferedBytes && p.pending.fold.Size() < maxBufferedRows {
		return nil
	}
	return p.commit(ctx, nil, to)
}

// discardBuffered discards the buffered events after a failure. Until the position of the failure
// is passed, no events are buffered. So an event that cannot be applied is found, and a transaction
// that takes too long is split into smaller ones.
func (p *Projector) discardBuffered(to eventstore.Position, err error) {
	if err != nil {
		p.pending, p.bisectUntil = nil, to
	}
}
