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
