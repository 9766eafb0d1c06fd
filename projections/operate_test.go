package projections_test

import (
	"errors"
	"testing"

	"linkledger/events/eventstore/eventstoretest"
	"linkledger/projections"
	"linkledger/projections/engine"
	"linkledger/projections/engine/status"
	"linkledger/projections/projection"
	"linkledger/projections/projectionstest"
)

// TestPauseAndOverview pauses and resumes a running projection, and checks the overview for
// operators.
func TestPauseAndOverview(t *testing.T) {
	t.Parallel()
	ctx := projectionstest.Context(t)
	db, store := projectionstest.Open(t), eventstoretest.New(t)
	w, progress := projectionstest.NewWriter(t, store), projectionstest.NewProgress()
	board := &status.Registry{}
	projectionstest.Run(t, engine.Config{DB: db, Store: store, OnCommit: progress.Advance, Owner: "me", Registry: board})
	projectionstest.AwaitStatus(t, board, func(s status.Status) bool { return s.Owned })
	account := w.Account()
	_, at := w.Link(account, "a")
	progress.Wait(t, at, projections.Links)
	if err := projections.Pause(ctx, db, projections.Links); err != nil {
		t.Fatal(err)
	}
	_, at = w.Link(account, "b")
	progress.Wait(t, at, projections.Tree, projections.History, projections.Activity)
	overviews, err := status.Overviews(ctx, projections.All(), db, store)
	if err != nil || len(overviews) != len(projections.Names()) {
		t.Fatalf("%+v, %v", overviews, err)
	}
	for _, o := range overviews {
		paused := o.Name == projections.Links
		if paused != (o.State == status.Paused) || paused != (o.LagEvents == 1) || paused != (o.Lag > 0) ||
			paused != (o.Owner == "") {
			t.Errorf("overview %+v", o)
		}
	}
	if err := projections.Resume(ctx, db, projections.Links); err != nil {
		t.Fatal(err)
	}
	progress.Wait(t, at, projections.Links)
}

// TestUnknownProjections checks that operators are told of names that no projection has.
func TestUnknownProjections(t *testing.T) {
	t.Parallel()
	ctx, db := projectionstest.Context(t), projectionstest.Open(t)
	_, retried := projections.RetryDeadLetters(ctx, db, "painting", "")
	_, discarded := projections.DiscardDeadLetters(ctx, db, "painting", "")
	_, restored := projections.RestoreDiscarded(ctx, db, "painting", "")
	_, letters := projections.DeadLetters(ctx, db, "painting")
	_, given := projections.DiscardedEvents(ctx, db, "painting")
	_, pruned := projections.Prune(ctx, db, "painting")
	for call, err := range map[string]error{
		"retry": retried, "discard": discarded, "restore": restored, "letters": letters, "discarded": given,
		"prune": pruned, "pause": projections.Pause(ctx, db, "painting"), "resume": projections.Resume(ctx, db, "painting"),
	} {
		if !errors.Is(err, projection.ErrUnknown) {
			t.Errorf("%s: %v", call, err)
		}
	}
}
