package foldtest

import (
	"context"
	"errors"
	"slices"

	"pgregory.net/rapid"

	"linkledger/events/eventstore"
	"linkledger/projections/engine/generation"
	"linkledger/projections/engine/projector"
	"linkledger/projections/projectionstest"
)

// FoldInAllWays delivers a log as one batch, event by event, and with DeliverBadly. The tables must
// be the same each time. It calls check after the delivery as one batch.
func (w *Workshop) FoldInAllWays(t *rapid.T, log []eventstore.Recorded, check func(context.Context)) {
	log = w.Followed(log)
	ctx := context.Background()

	Apply(ctx, t, w.Empty(ctx, t), log)
	whole := w.Dump(ctx, t)
	check(ctx)
	w.Clear(ctx, t)
	one := w.Empty(ctx, t)
	for i := range log {
		Apply(ctx, t, one, log[i:i+1])
	}
	if dump := w.Dump(ctx, t); dump != whole {
		t.Fatalf("one by one:\n%s\nas one batch:\n%s", dump, whole)
	}
	w.Clear(ctx, t)
	for _, bulk := range []bool{false, true} {
		w.DeliverBadly(ctx, t, log, bulk)
		if dump := w.Dump(ctx, t); dump != whole {
			t.Fatalf("cut and repeated, in bulk %t:\n%s\nas one batch:\n%s", bulk, dump, whole)
		}
		w.Clear(ctx, t)
	}
}

// DeliverBadly splits the log at random positions, and restarts the projector in between. It
// delivers applied events again: to a projector with the current checkpoint, which ignores them,
// and to one with an older checkpoint, which must fail.
func (w *Workshop) DeliverBadly(
	ctx context.Context, t *rapid.T, log []eventstore.Recorded, bulk bool,
) {
	w.StartOver(ctx, t)
	p := w.Projector(ctx, t, InBulk(bulk))
	defer func() {
		if err := p.Settle(ctx); err != nil {
			t.Fatalf("settle: %v", err)
		}
		if p.End(ctx); bulk {
			Complete(ctx, t, p)
		}
	}()
	for at := 0; at < len(log); {
		next := rapid.IntRange(at+1, len(log)).Draw(t, "next")
		again := rapid.IntRange(0, at).Draw(t, "again")
		at = next
		if rapid.Bool().Draw(t, "hurry") { // the next batch does not wait for this one
			batch := BatchOf(log[again:next])
			batch.Held = w.mayBeHeld(batch.Events) && rapid.Bool().Draw(t, "held")
			if err := p.Apply(ctx, batch); err != nil {
				t.Fatalf("apply a batch of %d: %v", next-again, err)
			}
			continue
		}
		if err := p.Settle(ctx); err != nil {
			t.Fatalf("settle: %v", err)
		}
		stale := w.Projector(ctx, t)
		Apply(ctx, t, p, log[again:next])
		if err := stale.Apply(ctx, BatchOf(log[again:next])); !errors.Is(err, generation.ErrFenced) {
			t.Fatalf("a stale projector got %v", err)
		}
		if rapid.Bool().Draw(t, "restart") {
			p = w.Projector(ctx, t, InBulk(bulk))
			Apply(ctx, t, p, log[again:next])
		}
		if bulk && rapid.Bool().Draw(t, "complete") { // then it continues live
			Complete(ctx, t, p)
		}
	}
}

// Complete completes a generation that was filled in bulk.
func Complete(ctx context.Context, t projectionstest.T, p *projector.Projector) {
	t.Helper()
	if err := p.Complete(ctx); err != nil {
		t.Fatalf("complete: %v", err)
	}
}

// mayBeHeld reports whether a subscriber may hold these events back.
func (w *Workshop) mayBeHeld(recorded []eventstore.Recorded) bool {
	p := w.Projection
	return p.Buffered && (p.NeverAwaited || !slices.ContainsFunc(
		recorded, func(r eventstore.Recorded) bool { return !p.Delayable(r) },
	))
}
