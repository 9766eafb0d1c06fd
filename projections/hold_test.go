package projections

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/projections/engine"
	"linkledger/projections/engine/projector"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
)

// drawClicks returns a log of clicks in which each event has its own stream.
func drawClicks(t *rapid.T) (log []eventstore.Recorded) {
	links := []string{uuid.NewString(), uuid.NewString()}
	for i := range rapid.IntRange(1, 8).Draw(t, "events") {
		log = record(log, fmt.Sprint(events.StreamClicks, i), 0, events.ClicksRecorded{Clicks: []events.Click{{
			URLID:   rapid.SampledFrom(links).Draw(t, "link"),
			Visitor: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "visitor"), At: noon,
		}}})
	}
	return log
}

// followHeld delivers the events after the checkpoint as held batches, and again after each
// failure. It returns the last error if the fifth attempt fails too.
func (w *workshop) followHeld(ctx context.Context, p *projector.Projector, log []eventstore.Recorded) error {
	var err error
	for range 5 {
		select { // end the rest
		case w.resume <- struct{}{}:
		default:
		}
		at, failure := p.Checkpoint(ctx)
		if failure != nil {
			return failure
		}
		if err = deliverHeld(
			ctx, p,
			slices.DeleteFunc(slices.Clone(log), func(r eventstore.Recorded) bool { return !r.Position.After(at.Position) }),
		); err == nil {
			return nil
		}
	}
	return err
}

func deliverHeld(ctx context.Context, p *projector.Projector, log []eventstore.Recorded) error {
	for i := range log {
		batch := batchOf(log[i : i+1])
		batch.Held = i < len(log)-1
		if err := p.Apply(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// TestHeldFailure holds events of which one cannot be applied. It checks that the event is found,
// and that all others are applied: clicks do not depend on each other.
func TestHeldFailure(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, Links)
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		log := drawClicks(t)
		poison := rapid.IntRange(0, len(log)-1).Draw(t, "poison")
		mustHandle(ctx, t, w.empty(ctx, t), slices.Delete(slices.Clone(log), poison, poison+1))
		want := w.dump(ctx, t)
		w.clear(ctx, t)

		w.startOver(ctx, t)
		p := w.projectorWith(ctx, t, w.poisoning(log[poison].Position, rapid.Bool().Draw(t, "panics")))
		if err := w.followHeld(ctx, p, log); err != nil {
			t.Fatal(err)
		}
		letters, err := DeadLetters(ctx, w.db, Links)
		if err != nil || len(letters) != 1 || letters[0].EventID != log[poison].ID {
			t.Fatalf("letters %+v, %v; want event %d", letters, err, poison)
		}
		if got := w.dump(ctx, t); got != want {
			t.Fatalf("tables\n%s, want\n%s", got, want)
		}
		w.clear(ctx, t)
	})
}

// TestDemand holds clicks back for an hour, and checks that they are applied on demand of another
// process.
func TestDemand(t *testing.T) {
	t.Parallel()
	db, store := openDatabase(t), eventstoretest.New(t)
	progress := newProgressLog()
	delayed := all()
	for i, p := range delayed {
		if p.Name == Links || p.Name == Dimensions {
			delayed[i].MinDelay, delayed[i].MaxDelay = time.Hour, time.Hour
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- engine.Run(ctx, delayed, engine.Config{DB: db, Store: store, OnCommit: progress.advance})
	}()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	w, link := newWriter(t, store), uuid.New()
	first := w.click("a", link, "v")
	progress.wait(t, first, Links, Dimensions) // not delayed, because no event came for a long time
	for range 3 {
		position := w.click("a", link, "v")
		for _, name := range []string{Links, Dimensions} {
			stop := repeatedly(t, func(ctx context.Context) error { // the listener may not have started yet
				_, err := db.NewRaw(
					"SELECT pg_notify(?, ?)", readmodel.ControlChannel, fmt.Sprint(name, " ", position),
				).Exec(ctx)
				return err
			})
			progress.wait(t, position, name)
			stop()
		}
	}
}

// repeatedly calls do repeatedly until stop is called.
func repeatedly(t *testing.T, do func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var doing sync.WaitGroup
	doing.Go(func() {
		for ctx.Err() == nil {
			if err := do(ctx); err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
	return func() { cancel(); doing.Wait() }
}

// heldFold records whether it was written.
type heldFold struct {
	projection.Fold
	written bool
}

func (h *heldFold) Write(s *sqlbatch.Batch) []string {
	h.written = true
	return h.Fold.Write(s)
}

// mostHeldRows is the number of rows at which a projector writes what it holds.
const mostHeldRows = 50_000

// TestHeldIsBounded holds clicks of many links. It checks that they are written before the batch
// ends, and that they are then no longer held.
func TestHeldIsBounded(t *testing.T) {
	t.Parallel()
	ctx := withTimeout(t)
	for _, name := range []string{Links, Dimensions} {
		w := newWorkshop(t, name)
		held := new(heldFold)
		plain := w.projection.Folds
		w.projection.Folds = projection.FoldsOf(func() projection.Fold {
			*held = heldFold{Fold: plain(projection.Given{}).Next()}
			return held
		})
		p := w.projector(ctx, t)
		var log []eventstore.Recorded
		for i := range 1 + mostHeldRows/2000 {
			clicks := make([]events.Click, 2000)
			for j := range clicks {
				clicks[j] = events.Click{URLID: uuid.NewString(), Visitor: "v", At: noon, Device: "desktop"}
			}
			log = record(log, events.StreamClicks+"x", eventstore.Revision(i), events.ClicksRecorded{Clicks: clicks})
			batch := batchOf(log[i:])
			batch.Held = true
			if err := p.Apply(ctx, batch); err != nil {
				t.Fatal(err)
			}
			if held.Fold != nil && !held.written && held.Size() >= mostHeldRows {
				t.Fatalf("%s holds %d rows", name, held.Size())
			}
		}
		if p.Position() == (eventstore.Position{}) {
			t.Errorf("%s has committed nothing", name)
		}
	}
}
