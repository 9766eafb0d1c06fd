package projector_test

import (
	"context"
	"errors"
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
)

// TestBisection draws histories with an event that cannot be applied, of a generation that serves or
// is filled. It checks that this event and the later ones of its stream are set aside, and that all
// others are applied. A later deletion of the link is set aside and takes effect.
func TestBisection(t *testing.T) {
	t.Parallel()
	w := foldtest.New(t, projections.Links)
	rapid.Check(t, func(t *rapid.T) {
		log := w.Followed(logtest.Draw(t).Log)
		if len(log) == 0 {
			return // there is no event to isolate
		}
		ctx := context.Background()
		poison := rapid.IntRange(0, len(log)-1).Draw(t, "poison")
		applied, letters := slices.Clone(log[:poison]), 0
		live := isLive(applied, log[poison].Stream)
		for i, r := range log[poison:] {
			follows := r.Stream == log[poison].Stream && !projection.Independent(r.Stream)
			ends := follows && i > 0 && live && r.Type == events.URLDeleted{}.EventType()
			if i > 0 && !follows || ends {
				applied = append(applied, r)
			}
			if i == 0 || follows {
				letters++
			}
			live = live && !ends
		}
		foldtest.Apply(ctx, t, w.Empty(ctx, t), applied)
		want := w.Dump(ctx, t)
		w.Clear(ctx, t)

		w.StartOver(ctx, t)
		poisoning := w.Poisoning(log[poison].Position, rapid.Bool().Draw(t, "panics"))
		bulk := rapid.Bool().Draw(t, "bulk")
		p := w.Projector(ctx, t, func(cfg *projector.Config) {
			poisoning(cfg)
			cfg.Building = bulk
		})
		foldtest.Deliver(ctx, t, p, log)
		if bulk {
			foldtest.Complete(ctx, t, p)
		}
		parked, err := deadletter.List(ctx, w.DB, projections.Links)
		if err != nil || len(parked) != letters || parked[0].EventID != log[poison].ID {
			t.Fatalf("%d letters, %+v, %v; want %d from event %d on", len(parked), parked, err, letters, poison)
		}
		if got := w.Dump(ctx, t); got != want {
			t.Fatalf("tables\n%s, want\n%s", got, want)
		}
		w.Clear(ctx, t)
	})
}

// isLive reports whether the events of a stream have made a link that is not deleted.
func isLive(log []eventstore.Recorded, stream string) (live bool) {
	for _, r := range log {
		if r.Stream != stream {
			continue
		}
		switch r.Type {
		case events.URLCreated{}.EventType(), events.URLCreated{ClaimsHash: true}.EventType(),
			events.URLRestored{}.EventType():
			live = true
		case events.URLDeleted{}.EventType():
			live = false
		}
	}
	return live
}

// TestTooManyParkedStreams checks that a projection stops at an event that cannot be applied if too
// many streams are set aside: then the program is at fault.
func TestTooManyParkedStreams(t *testing.T) {
	t.Parallel()
	ctx := projectionstest.Context(t)
	w := foldtest.New(t, projections.Tags)
	var log []eventstore.Recorded
	for range 3 {
		stream := events.StreamTags + uuid.New().String()
		log = logtest.Record(log, stream, 0, events.TagDeleted{TagID: uuid.New().String(), At: logtest.Noon})
	}
	p := w.Projector(ctx, t, func(cfg *projector.Config) { cfg.MaxParked = 2 })
	err := p.Apply(ctx, foldtest.BatchOf(log))
	failed, ok := errors.AsType[*projection.EventError](err)
	if !ok || failed.Position != log[2].Position || p.Position() != log[1].Position {
		t.Errorf("%v at %s", err, p.Position())
	}
	if letters, err := deadletter.List(ctx, w.DB, projections.Tags); err != nil || len(letters) != 2 {
		t.Errorf("letters %+v, %v", letters, err)
	}
}
