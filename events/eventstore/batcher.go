package eventstore

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"
)

// batcher gathers arrivals into batches.
type batcher struct {
	size        int
	patient     func(Recorded) bool
	minPatience time.Duration       // see SubscriberConfig
	maxPatience time.Duration       // likewise
	room        *semaphore.Weighted // that arrivals take while they wait
	position    Position            // of the last arrival
	sent        time.Time           // when a batch was last sent
	applied     time.Time           // when it had been applied
}

// next waits for the next batch; false when the arrivals have ended or ctx has.
func (b *batcher) next(ctx context.Context, arrivals <-chan arrival) (Batch, bool) {
	b.applied = time.Now()
	var batch Batch
	var due <-chan time.Time     // when a position without events is to be sent
	var patient <-chan time.Time // when events that nobody waits for are to be sent; nil: somebody waits
	size := 0                    // of the bodies
	for len(batch.Events) == 0 || len(batch.Events) < b.size && size < maxBatchBytes && (len(arrivals) > 0 || patient != nil) {
		select {
		case <-ctx.Done():
			return Batch{}, false
		case <-due:
			return b.finish(batch), true
		case <-patient:
			return b.finish(batch), true
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
					batch.Events = make([]Recorded, 0, min(b.size, 1+len(arrivals)))
				}
				patient = b.holdFor(batch, *a.event, patient)
				batch.Events = append(batch.Events, *a.event)
				size += len(a.event.Data)
			} else if a.caughtUp {
				batch.CaughtUp = true
				return b.finish(batch), true
			} else if due == nil {
				due = time.After(time.Until(b.sent.Add(positionInterval)))
			}
		}
	}
	return b.finish(batch), true
}

// holdFor tells how long a batch is held that an event is added to: as long as before, but nil if somebody waits for it.
func (b *batcher) holdFor(batch Batch, added Recorded, before <-chan time.Time) <-chan time.Time {
	switch {
	case b.patient == nil || !b.patient(added):
		return nil
	case len(batch.Events) > 0:
		return before
	}
	wait := time.Until(b.due(b.applied))
	if wait <= 0 {
		return nil
	}
	return time.After(wait)
}

// due is when a batch is to be sent that nobody waits for, where the one before was applied then.
func (b *batcher) due(applied time.Time) time.Time {
	return b.sent.Add(min(max(patientShare*applied.Sub(b.sent), b.minPatience), b.maxPatience))
}

func (b *batcher) finish(batch Batch) Batch {
	batch.Position = b.position
	b.sent = time.Now()
	return batch
}
