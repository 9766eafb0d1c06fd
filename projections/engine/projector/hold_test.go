package projector_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/projections"
	"linkledger/projections/engine/deadletter"
	"linkledger/projections/engine/projector"
	"linkledger/projections/foldtest"
	"linkledger/projections/logtest"
	"linkledger/projections/projection"
	"linkledger/projections/projectionstest"
	"linkledger/projections/sqlbatch"
)

// drawClicks returns a log of clicks in which each event has its own stream.
func drawClicks(t *rapid.T) (log []eventstore.Recorded) {
	links := []string{uuid.NewString(), uuid.NewString()}
	for i := range rapid.IntRange(1, 8).Draw(t, "events") {
		log = logtest.Record(log, fmt.Sprint(events.StreamClicks, i), 0, events.ClicksRecorded{Clicks: []events.Click{{
			URLID:   rapid.SampledFrom(links).Draw(t, "link"),
			Visitor: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "visitor"), At: logtest.Noon,
		}}})
	}
	return log
}

// followHeld delivers the events after the checkpoint as held batches, and again after each
// failure. It returns the last error if the fifth attempt fails too.
func followHeld(ctx context.Context, w *foldtest.Workshop, p *projector.Projector, log []eventstore.Recorded) error {
	var err error
	for range 5 {
		select { // end the rest
		case w.Resume <- struct{}{}:
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
		batch := foldtest.BatchOf(log[i : i+1])
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
	w := foldtest.New(t, projections.Links)
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		log := drawClicks(t)
		poison := rapid.IntRange(0, len(log)-1).Draw(t, "poison")
		foldtest.Apply(ctx, t, w.Empty(ctx, t), slices.Delete(slices.Clone(log), poison, poison+1))
		want := w.Dump(ctx, t)
		w.Clear(ctx, t)

		w.StartOver(ctx, t)
		p := w.Projector(ctx, t, w.Poisoning(log[poison].Position, rapid.Bool().Draw(t, "panics")))
		if err := followHeld(ctx, w, p, log); err != nil {
			t.Fatal(err)
		}
		letters, err := deadletter.List(ctx, w.DB, projections.Links)
		if err != nil || len(letters) != 1 || letters[0].EventID != log[poison].ID {
			t.Fatalf("letters %+v, %v; want event %d", letters, err, poison)
		}
		if got := w.Dump(ctx, t); got != want {
			t.Fatalf("tables\n%s, want\n%s", got, want)
		}
		w.Clear(ctx, t)
	})
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
	ctx := projectionstest.Context(t)
	for _, name := range []string{projections.Links, projections.Dimensions} {
		w := foldtest.New(t, name)
		held := new(heldFold)
		plain := w.Projection.Folds
		w.Projection.Folds = projection.FoldsOf(func() projection.Fold {
			*held = heldFold{Fold: plain(projection.Given{}).Next()}
			return held
		})
		p := w.Projector(ctx, t)
		var log []eventstore.Recorded
		for i := range 1 + mostHeldRows/2000 {
			clicks := make([]events.Click, 2000)
			for j := range clicks {
				clicks[j] = events.Click{URLID: uuid.NewString(), Visitor: "v", At: logtest.Noon, Device: "desktop"}
			}
			log = logtest.Record(log, events.StreamClicks+"x", eventstore.Revision(i), events.ClicksRecorded{Clicks: clicks})
			batch := foldtest.BatchOf(log[i:])
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
