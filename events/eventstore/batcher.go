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
	var due <-chan time.Time  // when a position without events is to be sent
	var held <-chan time.Time // when the events are to be sent; nil: when nothing more is waiting
	var until time.Time       // they are held
	size := 0                 // of the bodies
	for len(batch.Events) == 0 || len(batch.Events) < b.size && size < maxBatchBytes && (len(arrivals) > 0 || held != nil) {
		select {
		case <-ctx.Done():
			return Batch{}, false
		case <-due:
			return b.finish(batch), true
		case <-held:
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
				if hold := b.hold(*a.event); len(batch.Events) == 0 || hold.Before(until) {
					until, held = hold, alarm(hold)
				}
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

// hold tells until when a batch may be held that has the event.
func (b *batcher) hold(event Recorded) time.Time {
	if b.patient == nil || !b.patient(event) {
		return b.applied.Add(min(b.applied.Sub(b.sent), maxGathering))
	}
	return b.due(b.applied)
}

// alarm returns nil for a moment that has passed.
func alarm(at time.Time) <-chan time.Time {
	wait := time.Until(at)
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
