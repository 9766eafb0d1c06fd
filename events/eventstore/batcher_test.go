package eventstore

import (
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/semaphore"
)

// Events that nobody waits for are held, the longer the longer it took to apply the batch before; one that somebody waits
// for takes them along at once.
func TestPatientEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		arrivals := make(chan arrival, 10)
		b := batcher{size: 5, minPatience: DefaultMinPatience, maxPatience: DefaultMaxPatience, room: semaphore.NewWeighted(1), patient: func(r Recorded) bool { return r.Type == "patient" }}
		start, position := time.Now(), uint64(0)
		arrive := func(eventType string) {
			position++
			arrivals <- arrival{event: &Recorded{Type: eventType}, position: Position{Commit: position}}
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
		arrive("patient")
		takes(1, 0) // nothing was sent for a long time
		arrive("patient")
		go func() {
			time.Sleep(DefaultMinPatience / 2)
			arrive("patient")
		}()
		takes(2, DefaultMinPatience)
		arrive("patient")
		go func() {
			time.Sleep(DefaultMinPatience / 2)
			arrive("other")
		}()
		takes(2, DefaultMinPatience*3/2)
		for range 5 {
			arrive("patient")
		}
		takes(5, DefaultMinPatience*3/2) // full

		took := 2 * DefaultMinPatience
		time.Sleep(took) // the batch is applied
		sent := time.Since(start) - took
		arrive("patient")
		takes(1, sent+patientShare*took) // so that a tenth of the time goes into batches
		time.Sleep(DefaultMaxPatience / 2)
		sent += patientShare * took
		arrive("patient")
		takes(1, sent+DefaultMaxPatience)
	})
}

// Events that somebody waits for are held as long as it took to apply the batch before, and not for long.
func TestUrgentEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		arrivals := make(chan arrival, 10)
		arrive := func() { arrivals <- arrival{event: &Recorded{}} }
		b := batcher{size: 5, room: semaphore.NewWeighted(1), sent: time.Now()}
		for _, took := range []time.Duration{0, maxGathering / 2, time.Second} {
			time.Sleep(took)
			applied, held := time.Now(), min(took, maxGathering)
			arrive()
			want := 1
			if held > 0 {
				want = 2
				time.AfterFunc(held/2, arrive)
			}
			batch, ok := b.next(t.Context(), arrivals)
			if after := time.Since(applied); !ok || len(batch.Events) != want || after != held {
				t.Errorf("after one that took %s: a batch of %d after %s, want %d after %s", took, len(batch.Events), after, want, held)
			}
		}
		time.Sleep(time.Second)
		begun := time.Now()
		time.AfterFunc(maxGathering, arrive)
		if batch, _ := b.next(t.Context(), arrivals); len(batch.Events) != 1 || time.Since(begun) != maxGathering {
			t.Errorf("a batch of %d after %s, want the one event when it comes", len(batch.Events), time.Since(begun))
		}
	})
}
