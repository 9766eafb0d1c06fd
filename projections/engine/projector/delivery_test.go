package projector_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"pgregory.net/rapid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/projections"
	"linkledger/projections/engine/generation"
	"linkledger/projections/engine/projector"
	"linkledger/projections/foldtest"
	"linkledger/projections/logtest"
	"linkledger/projections/projectionstest"
)

// TestGathering checks that a build gathers the events that follow the first one into a batch while
// PostgreSQL blocks the write of the first.
func TestGathering(t *testing.T) {
	t.Parallel()
	w := foldtest.New(t, projections.Links)
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		log := w.Followed(logtest.Draw(t).Log)
		foldtest.Apply(ctx, t, w.Empty(ctx, t), log)
		whole := w.Dump(ctx, t)
		w.Clear(ctx, t)
		w.StartOver(ctx, t)
		p := w.Projector(ctx, t, foldtest.InBulk(true))
		err := w.DB.RunInTx(ctx, nil, func(_ context.Context, tx bun.Tx) error {
			_, err := tx.NewRaw("SELECT FROM linkledger.generations FOR UPDATE").Exec(ctx)
			for i := range log {
				err = errors.Join(err, p.Apply(ctx, foldtest.BatchOf(log[i:i+1])))
			}
			return err
		})
		if err := errors.Join(err, p.Settle(ctx)); err != nil {
			t.Fatalf("gather: %v", err)
		}
		foldtest.Complete(ctx, t, p)
		if dump := w.Dump(ctx, t); dump != whole {
			t.Fatalf("gathered:\n%s\nas one batch:\n%s", dump, whole)
		}
		w.Clear(ctx, t)
	})
}

// TestOneOfTwoProjectorsApplies checks that a batch is applied once if two projectors at the same
// checkpoint apply it concurrently.
func TestOneOfTwoProjectorsApplies(t *testing.T) {
	t.Parallel()
	ctx := projectionstest.Context(t)
	w := foldtest.New(t, projections.Links)
	w.Empty(ctx, t)
	link := uuid.New().String()
	var log []eventstore.Recorded
	for i := range 20 {
		log = logtest.Record(log, events.StreamClicks+"x", eventstore.Revision(i), events.ClicksRecorded{
			Clicks: []events.Click{{URLID: link, Visitor: "v", At: logtest.Noon}},
		})
		outcomes := make([]error, 2)
		projectors := []*projector.Projector{w.Projector(ctx, t), w.Projector(ctx, t)}
		var both sync.WaitGroup
		for j, p := range projectors {
			both.Go(func() { outcomes[j] = p.Apply(ctx, foldtest.BatchOf(log[i:])) })
		}
		both.Wait()
		if outcomes[0] == nil == (outcomes[1] == nil) {
			t.Fatalf("both projectors: %v", outcomes)
		}
		if err := errors.Join(outcomes...); !errors.Is(err, generation.ErrFenced) {
			t.Fatal(err)
		}
	}
	if dump := w.Dump(ctx, t); !strings.Contains(dump, link+",,,20,1,") {
		t.Errorf("20 clicks of one visitor are\n%s", dump)
	}
}
