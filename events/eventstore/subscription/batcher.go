package subscription

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"

	"linkledger/events/eventstore"
)

// batcher collects arrivals into batches. It delays batches as Config says: Delayable,
// NeverAwaited and SendParts.
type batcher struct {
	Config

	memory   *semaphore.Weighted // bytes that waiting arrivals hold
	position eventstore.Position // of the last arrival
	sent     time.Time           // when the last whole batch was sent
	applied  time.Time           // when that batch had been applied
	live     bool                // the subscription has caught up once
	partSent bool                // a part of the current batch was sent
	// delay fires when the delay of the current batch ends. It is nil if the batch has no delay.
	delay <-chan time.Time
	// delayEnded means that the delay has ended. The batch takes what has arrived by now.
	delayEnded bool
}

// next waits for the next batch or a part of it. It returns false if the arrivals or ctx have
// ended.
func (b *batcher) next(ctx context.Context, arrivals <-chan arrival) (Batch, bool) {
	if !b.partSent {
		b.applied = time.Now()
	}
	var batch Batch
	var due <-chan time.Time // fires when a position without events is to be sent
	size := 0                // of the bodies in bytes
	for b.isIncomplete(batch, size, len(arrivals)) {
		select {
		case <-ctx.Done():
			return Batch{}, false
		case <-due:
			return b.finish(batch), true
		case <-b.delay:
			b.delay, b.delayEnded = nil, true
		case <-b.Demand.raised:
			b.shortenDelay()
		case a, ok := <-arrivals:
			if !ok {
				return Batch{}, false
			}
			b.memory.Release(a.size())
			if a.position.After(b.position) {
				b.position = a.position
			}
			switch {
			case a.event != nil:
				if batch.Events == nil {
					batch.Events = make([]eventstore.Recorded, 0, min(b.BatchSize, 1+len(arrivals)))
				}
				b.updateDelay(len(batch.Events) == 0 && !b.partSent, *a.event)
				batch.Events = append(batch.Events, *a.event)
				size += len(a.event.Data)
			case a.caughtUp:
				b.live, batch.CaughtUp = true, true
				return b.finish(batch), true
			case due == nil && b.delay == nil:
				due = time.After(time.Until(b.sent.Add(positionInterval)))
			}
		}
	}
	if b.SendParts && b.delay != nil {
		b.partSent, batch.Held, batch.Position = true, true, b.position
		return batch, true
	}
	return b.finish(batch), true
}

// isIncomplete reports whether a batch is to receive further arrivals: it is empty, or it is not
// full and either arrivals wait or the delay has not ended.
func (b *batcher) isIncomplete(batch Batch, size, waiting int) bool {
	if len(batch.Events) == 0 && !b.delayEnded {
		return true
	}
	return !b.isFull(batch, size) && (waiting > 0 || b.delay != nil)
}

func (b *batcher) isFull(batch Batch, size int) bool {
	limit := maxBatchBytes
	if b.SendParts && b.delay != nil {
		limit = partBytes
	}
	return len(batch.Events) >= b.BatchSize || size >= limit
}

// updateDelay sets the delay of the current batch when an event is added. The first event starts
// the delay. An event that must not be delayed ends it.
func (b *batcher) updateDelay(first bool, added eventstore.Recorded) {
	switch {
	case b.SendParts && b.NeverAwaited && !b.live:
		if first {
			b.delayCatchUp(added)
		}
	case b.Delayable == nil || !b.Delayable(added):
		b.delay = nil
	case first && b.Demand.includes(added.Position):
		b.delayUntil(b.demandedDue(b.applied))
	case first:
		b.delayUntil(b.due(b.applied))
	}
}

// delayCatchUp sets the delay of a batch while a subscription with NeverAwaited and SendParts
// catches up. The batch ends when the subscription has caught up. The delay ends it earlier,
// because not every server reports that a subscription has caught up.
func (b *batcher) delayCatchUp(first eventstore.Recorded) {
	if b.Demand.includes(first.Position) {
		b.delayUntil(b.demandedDue(b.applied))
	} else {
		b.delayUntil(time.Now().Add(catchUpInterval))
	}
}

// shortenDelay shortens the delay of the current batch, if it has one, after a demand.
func (b *batcher) shortenDelay() {
	if b.delay != nil {
		b.delayUntil(b.demandedDue(b.applied))
	}
}

// delayUntil sets the time when the current batch is sent. If that time is past, the batch is sent
// with what has arrived by now.
func (b *batcher) delayUntil(due time.Time) {
	wait := time.Until(due)
	if b.delayEnded = wait <= 0; b.delayEnded {
		b.delay = nil
	} else {
		b.delay = time.After(wait)
	}
}

// due returns when a delayed batch is to be sent, given when the previous batch had been applied.
func (b *batcher) due(applied time.Time) time.Time {
	return b.sent.Add(min(max(delayShare*applied.Sub(b.sent), b.MinDelay), b.MaxDelay))
}

// demandedDue returns when a delayed batch of demanded events is to be sent.
func (b *batcher) demandedDue(applied time.Time) time.Time {
	return b.sent.Add(min(demandedDelayShare*applied.Sub(b.sent), b.MaxDelay, maxDemandedDelay))
}

// finish completes a batch and resets the delay.
func (b *batcher) finish(batch Batch) Batch {
	batch.Position = b.position
	b.sent, b.partSent, b.delay, b.delayEnded = time.Now(), false, nil, false
	return batch
}
