package subscription

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"

	"linkledger/events/eventstore"
)

// batcher gathers arrivals into batches.
type batcher struct {
	Config

	room     *semaphore.Weighted // that arrivals take while they wait
	position eventstore.Position // of the last arrival
	sent     time.Time           // when a batch was last sent whole
	applied  time.Time           // when it had been applied
	live     bool                // caught up, once
	holding  bool                // a part of the next batch was sent
	// when events that nobody waits for are to be sent; nil: somebody waits
	patience <-chan time.Time
	ending   bool // that time has come: what has arrived by now goes along
}

// next waits for the next batch, or a part of it; false when the arrivals have ended or ctx has.
func (b *batcher) next(ctx context.Context, arrivals <-chan arrival) (Batch, bool) {
	if !b.holding {
		b.applied = time.Now()
	}
	var batch Batch
	var due <-chan time.Time // when a position without events is to be sent
	size := 0                // of the bodies
	for len(batch.Events) == 0 && !b.ending || !b.isFull(batch, size) && (len(arrivals) > 0 ||
		b.patience != nil) {
		select {
		case <-ctx.Done():
			return Batch{}, false
		case <-due:
			return b.finish(batch), true
		case <-b.patience:
			b.patience, b.ending = nil, true
		case <-b.Demand.raised:
			b.hurry()
		case a, ok := <-arrivals:
			if !ok {
				return Batch{}, false
			}
			b.room.Release(a.size())
			if a.position.After(b.position) {
				b.position = a.position
			}
			if a.event != nil {
				if batch.Events == nil {
					batch.Events = make([]eventstore.Recorded, 0, min(b.BatchSize, 1+len(arrivals)))
				}
				b.holdFor(len(batch.Events) == 0 && !b.holding, *a.event)
				batch.Events = append(batch.Events, *a.event)
				size += len(a.event.Data)
			} else if a.caughtUp {
				b.live, batch.CaughtUp = true, true
				return b.finish(batch), true
			} else if due == nil && b.patience == nil {
				due = time.After(time.Until(b.sent.Add(positionInterval)))
			}
		}
	}
	if b.InParts && b.patience != nil {
		b.holding, batch.Held, batch.Position = true, true, b.position
		return batch, true
	}
	return b.finish(batch), true
}

func (b *batcher) isFull(batch Batch, size int) bool {
	most := maxBatchBytes
	if b.InParts && b.patience != nil {
		most = partBytes
	}
	return len(batch.Events) >= b.BatchSize || size >= most
}

// holdFor tells how long the batch is held that an event is added to, as its first one or not: as
// long as before, but not at all if somebody waits for it.
func (b *batcher) holdFor(first bool, added eventstore.Recorded) {
	switch {
	case b.InParts && b.Rests && !b.live:
		if first {
			b.catchUp(added)
		}
	case b.Patient == nil || !b.Patient(added):
		b.patience = nil
	case first && b.Demand.includes(added.Position):
		b.hold(b.demandedDue(b.applied))
	case first:
		b.hold(b.due(b.applied))
	}
}

// catchUp holds the first batch of a subscription that rests until it has caught up. Not every
// server says so.
func (b *batcher) catchUp(first eventstore.Recorded) {
	if b.Demand.includes(first.Position) {
		b.hold(b.demandedDue(b.applied))
	} else {
		b.hold(time.Now().Add(catchUpInterval))
	}
}

// hurry shortens the time for which a batch is held.
func (b *batcher) hurry() {
	if b.patience != nil {
		b.hold(b.demandedDue(b.applied))
	}
}

// hold has the batch sent when it is due: if that is past, with what has arrived by now.
func (b *batcher) hold(due time.Time) {
	wait := time.Until(due)
	if b.ending = wait <= 0; b.ending {
		b.patience = nil
	} else {
		b.patience = time.After(wait)
	}
}

// due is when a batch is to be sent that nobody waits for, where the one before was applied then.
func (b *batcher) due(applied time.Time) time.Time {
	return b.sent.Add(min(max(patientShare*applied.Sub(b.sent), b.MinPatience), b.MaxPatience))
}

// demandedDue is when it is to be sent if somebody waits after all.
func (b *batcher) demandedDue(applied time.Time) time.Time {
	return b.sent.Add(min(demandedShare*applied.Sub(b.sent), b.MaxPatience, maxDemanded))
}

// finish ends a batch.
func (b *batcher) finish(batch Batch) Batch {
	batch.Position = b.position
	b.sent, b.holding, b.patience, b.ending = time.Now(), false, nil, false
	return batch
}
