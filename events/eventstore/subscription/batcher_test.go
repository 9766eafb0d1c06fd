package subscription

import (
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/semaphore"

	"linkledger/events/eventstore"
)

// TestDelayableEvents checks that delayable events wait longer the longer the previous batch took
// to apply, and that an event that must not be delayed ends the delay of all.
func TestDelayableEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		arrivals := make(chan arrival, 10)
		b := batcher{memory: semaphore.NewWeighted(1), Config: Config{
			Demand: NewDemand(), BatchSize: 5, MinDelay: DefaultMinDelay, MaxDelay: DefaultMaxDelay,
			Delayable: func(r eventstore.Recorded) bool { return r.Type == "delayable" },
		}}
		start, position := time.Now(), uint64(0)
		arrive := func(eventType string) {
			position++
			at := eventstore.Position{Commit: position}
			arrivals <- arrival{event: &eventstore.Recorded{Type: eventType, Position: at}, position: at}
		}
		takes := func(events int, at time.Duration) {
			t.Helper()
			batch, ok := b.next(t.Context(), arrivals)
			if !ok || len(batch.Events) != events || batch.Position.Commit != position {
				t.Errorf("batch of %d up to %s, want %d up to %d", len(batch.Events), batch.Position, events, position)
			}
			if after := time.Since(start); after != at {
				t.Errorf("the batch was sent after %s, want %s", after, at)
			}
		}
		arrive("delayable")
		takes(1, 0) // no batch was sent for a long time
		arrive("delayable")
		go func() {
			time.Sleep(DefaultMinDelay / 2)
			arrive("delayable")
		}()
		takes(2, DefaultMinDelay)
		arrive("delayable")
		go func() {
			time.Sleep(DefaultMinDelay / 2)
			arrive("other")
		}()
		takes(2, DefaultMinDelay*3/2)
		for range 5 {
			arrive("delayable")
		}
		takes(5, DefaultMinDelay*3/2) // the batch is full

		took := 2 * DefaultMinDelay
		time.Sleep(took) // the batch is applied
		sent := time.Since(start) - took
		arrive("delayable")
		takes(1, sent+delayShare*took) // so that batches take a tenth of the time
		time.Sleep(DefaultMaxDelay / 2)
		sent += delayShare * took
		arrive("delayable")
		takes(1, sent+DefaultMaxDelay)
	})
}

// workbench is a batcher in a synctest bubble, with its arrivals.
type workbench struct {
	*testing.T

	batcher  batcher
	arrivals chan arrival
	position uint64
	start    time.Time
}

func newWorkbench(t *testing.T, cfg Config) *workbench {
	t.Helper()
	cfg.Demand, cfg.MinDelay, cfg.MaxDelay, cfg.SendParts = NewDemand(), time.Second, time.Minute, true
	cfg.Delayable = func(r eventstore.Recorded) bool { return r.Type == "delayable" }
	return &workbench{
		T: t, batcher: batcher{Config: cfg, memory: semaphore.NewWeighted(maxBatchBytes)},
		arrivals: make(chan arrival, 100), start: time.Now(),
	}
}

func (w *workbench) arrive(eventType string, size int) {
	w.position++
	at := eventstore.Position{Commit: w.position}
	a := arrival{event: &eventstore.Recorded{Type: eventType, Data: make([]byte, size), Position: at}, position: at}
	if err := w.batcher.memory.Acquire(w.Context(), a.size()); err != nil {
		w.Fatal(err)
	}
	w.arrivals <- a
}

func (w *workbench) takes(events int, held bool, at time.Duration) {
	w.Helper()
	batch, ok := w.batcher.next(w.Context(), w.arrivals)
	if !ok || len(batch.Events) != events || batch.Held != held ||
		batch.Position.Commit != w.position-uint64(len(w.arrivals)) {
		w.Errorf("batch of %d up to %s, held %t, want %d up to %d, %t",
			len(batch.Events), batch.Position, batch.Held, events, w.position-uint64(len(w.arrivals)), held)
	}
	if after := time.Since(w.start); after != at {
		w.Errorf("the batch was sent after %s, want %s", after, at)
	}
}

// TestParts checks that a delayed batch is sent in parts. The last part is sent when a whole batch
// would be: after the delay, or with an event that must not be delayed.
func TestParts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorkbench(t, Config{BatchSize: 3})
		w.arrive("delayable", 1)
		w.takes(1, false, 0) // no batch was sent for a long time
		for range 7 {
			w.arrive("delayable", 1)
		}
		w.takes(3, true, 0)
		w.takes(3, true, 0)
		w.takes(1, false, time.Second)
		for range 3 {
			w.arrive("delayable", 1)
		}
		w.takes(3, true, time.Second)
		w.takes(0, false, 2*time.Second) // the parts contained all events
		w.arrive("delayable", partBytes)
		w.arrive("delayable", 1)
		w.arrive("other", 1)
		w.takes(1, true, 2*time.Second)
		w.takes(2, false, 2*time.Second)
		time.Sleep(time.Hour)
		for range 2 {
			w.arrive("delayable", partBytes)
		}
		w.takes(2, false, time.Hour+2*time.Second) // overdue: the batch contains all waiting events
	})
}

// TestPartsOfACatchUp checks that a subscription whose events are never awaited sends no whole
// batch before it has caught up, except on demand and after catchUpInterval.
func TestPartsOfACatchUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorkbench(t, Config{BatchSize: 3, NeverAwaited: true})
		four := func() {
			for range 4 {
				w.arrive("other", 1)
			}
		}
		four()
		w.takes(3, true, 0)
		w.takes(1, false, catchUpInterval)
		four()
		w.takes(3, true, catchUpInterval)
		w.batcher.Demand.Raise(w.position + 1)
		w.takes(1, false, catchUpInterval)
		w.arrive("other", 1)
		w.takes(1, false, catchUpInterval) // demanded before it arrived
		four()
		w.takes(3, true, catchUpInterval)
		w.arrivals <- arrival{caughtUp: true}
		batch, ok := w.batcher.next(t.Context(), w.arrivals)
		if !ok || len(batch.Events) != 1 || batch.Held || !batch.CaughtUp {
			t.Errorf("caught up with %+v", batch)
		}
		w.arrive("other", 1)
		w.takes(1, false, catchUpInterval) // live
	})
}

// TestDemand checks that demanded events wait less, whether they arrive before or after the demand.
func TestDemand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const took = maxDemandedDelay / demandedDelayShare
		w := newWorkbench(t, Config{BatchSize: 10})
		delay := max(delayShare*took, w.batcher.MinDelay) - took
		at := time.Duration(0)
		batch := func(waits time.Duration) {
			t.Helper()
			w.arrive("delayable", 1)
			at += waits
			w.takes(1, false, at)
			time.Sleep(took) // the batch is applied
			at += took
		}
		batch(0)
		batch(delay)
		next := w.position + 1
		go func() {
			time.Sleep(took / 2)
			w.batcher.Demand.Raise(next)
		}()
		batch((demandedDelayShare - 1) * took)
		w.batcher.Demand.Raise(w.position + 1)
		batch((demandedDelayShare - 1) * took)
		w.batcher.Demand.Raise(1) // a position that is already reached
		batch(delay)
	})
}
