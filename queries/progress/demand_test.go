package progress

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"linkledger/projections/readmodel"
	"linkledger/queries/queriestest"
)

// TestDemand checks that a demand for events that a projector may delay is announced repeatedly
// until it is met. Later demands must be announced too, and demands for positions that are already
// reached must not.
func TestDemand(t *testing.T) {
	t.Parallel()
	db, ctx := queriestest.OpenDatabase(t), queriestest.WithTimeout(t)
	projector, err := db.Listen(ctx, readmodel.ControlChannel)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = projector.Close(ctx) }()
	f := NewWaiter(db)
	f.Committed("links", 7, nil)
	if err := f.WaitUndelayed(ctx, "links", 7); err != nil {
		t.Error(err)
	}
	var readers sync.WaitGroup
	demand := func(position uint64) {
		readers.Go(func() {
			if err := f.WaitUndelayed(ctx, "links", position); err != nil {
				t.Errorf("links at %d: %v", position, err)
			}
		})
	}
	announced, last := uint64(0), uint64(0)
	awaitAnnounced := func(position uint64) {
		t.Helper()
		for times := 0; times < 2; { // one notification may be lost
			announcement, err := readmodel.NextNotification(ctx, projector)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := fmt.Sscanf(announcement, "links %d", &announced); err != nil || announced < max(last, 8) {
				t.Fatalf("announced %q after %d", announcement, last)
			}
			if last = announced; announced == position {
				times++
			}
		}
	}
	demand(8)
	awaitAnnounced(8)
	demand(9)
	demand(10)
	awaitAnnounced(10)
	f.Committed("links", 9, nil)
	awaitAnnounced(10) // announced for the call that still waits
	f.Committed("links", 10, nil)
	readers.Wait()
}

// TestDemandEnds checks that a demand that is not met ends with the context of its reader.
func TestDemandEnds(t *testing.T) {
	t.Parallel()
	f := NewWaiter(queriestest.OpenDatabase(t))
	ctx, cancel := context.WithTimeout(t.Context(), 3*demandInterval)
	defer cancel()
	if err := f.WaitUndelayed(ctx, "links", 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}
