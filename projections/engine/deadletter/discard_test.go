package deadletter_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/projections"
	"linkledger/projections/engine/deadletter"
	"linkledger/projections/foldtest"
	"linkledger/projections/logtest"
	"linkledger/projections/projectionstest"
)

// discard gives up the first dead letters of a stream, or of all.
func discard(ctx context.Context, w *foldtest.Workshop, t projectionstest.T, stream string) {
	t.Helper()
	if _, err := deadletter.Discard(ctx, w.DB, w.Projection, stream); err != nil {
		t.Fatalf("discard: %v", err)
	}
}

// forget makes the next generation apply discarded events.
func forget(ctx context.Context, w *foldtest.Workshop, t projectionstest.T) {
	t.Helper()
	if _, err := deadletter.Restore(ctx, w.DB, w.Projection.Name, ""); err != nil {
		t.Fatalf("restore: %v", err)
	}
}

// TestDiscardsAndRebuildsAgree applies events of which many contradict their stream, and gives dead letters up in
// between. It checks after each step that the tables are those of a replay. Once nothing is set aside, the tables are
// those of a rebuild, which sets nothing aside either.
func TestDiscardsAndRebuildsAgree(t *testing.T) {
	t.Parallel()
	w := foldtest.New(t, projections.Accounts)
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		forget(ctx, w, t)
		log := w.Followed(drawContradictions(t))
		w.StartOver(ctx, t)
		check := func() {
			t.Helper()
			if found := w.Verify(ctx, t, log); found.Different > 0 {
				t.Fatalf("verify finds %+v", found.Differences)
			}
		}
		for done := 0; done < len(log); {
			next := rapid.IntRange(done+1, len(log)).Draw(t, "next")
			foldtest.Deliver(ctx, t, w.Projector(ctx, t), log[done:next])
			done = next
			check()
			if rapid.Bool().Draw(t, "discard") {
				stream := rapid.SampledFrom([]string{"", log[0].Stream, log[len(log)-1].Stream}).Draw(t, "stream")
				discard(ctx, w, t, stream)
				check()
			}
		}
		for range log {
			discard(ctx, w, t, "")
		}
		check()
		if letters := w.Letters(ctx, t); letters != "" {
			t.Fatalf("still set aside\n%s", letters)
		}
		got := w.Dump(ctx, t)
		w.Clear(ctx, t)

		w.StartOver(ctx, t)
		foldtest.Deliver(ctx, t, w.Projector(ctx, t, foldtest.InBulk(rapid.Bool().Draw(t, "bulk"))), log)
		if want := w.Dump(ctx, t); got != want {
			t.Fatalf("after the discards\n%s, want those of a rebuild\n%s", got, want)
		}
		if letters := w.Letters(ctx, t); letters != "" {
			t.Fatalf("a rebuild sets aside\n%s", letters)
		}
		w.Clear(ctx, t)
	})
}

// TestDiscardsInAllGenerations gives an event up that two generations have set aside.
func TestDiscardsInAllGenerations(t *testing.T) {
	t.Parallel()
	ctx := projectionstest.Context(t)
	w := foldtest.New(t, projections.Accounts)
	account := uuid.NewString()
	stream := events.StreamAccount + account
	var log []eventstore.Recorded
	for revision, e := range []events.Event{
		events.AccountOpened{Account: account, Username: "one", KeyID: "first", KeyHash: "h", At: logtest.Noon},
		events.KeyChanged{KeyID: "none", At: logtest.Noon},
		events.KeyChanged{KeyID: "first", KeyTerms: events.KeyTerms{Name: "after"}, At: logtest.Noon},
	} {
		log = logtest.Record(log, stream, eventstore.Revision(revision), e)
	}
	foldtest.Apply(ctx, t, w.Empty(ctx, t), log)
	kept := w.Schema()
	projectionstest.Exec(t, w.DB, `CREATE TABLE former AS SELECT * FROM linkledger.generations;
		CREATE TABLE former_letters AS SELECT * FROM linkledger.dead_letters`)
	foldtest.Apply(ctx, t, w.Empty(ctx, t), log)
	projectionstest.Exec(t, w.DB, `DELETE FROM former WHERE name <> 'accounts'; UPDATE former SET serving = false;
		INSERT INTO linkledger.generations SELECT * FROM former;
		INSERT INTO linkledger.dead_letters SELECT * FROM former_letters`)

	done, err := deadletter.Discard(ctx, w.DB, w.Projection, "")
	if err != nil || done.Discarded != 1 || done.Applied != 1 || done.Left != 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	if letters := w.Letters(ctx, t); letters != "" {
		t.Errorf("still set aside\n%s", letters)
	}
	if got, want := projectionstest.Dump(ctx, t, w.DB, kept), w.Dump(ctx, t); got != want {
		t.Errorf("the kept generation has\n%s, want\n%s", got, want)
	}
	if found, err := deadletter.ListDiscarded(ctx, w.DB, ""); err != nil || len(found) != 1 || found[0].Revision != 1 {
		t.Errorf("discarded events %+v, %v", found, err)
	}
	// A restored event is set aside again.
	if n, err := deadletter.Restore(ctx, w.DB, w.Projection.Name, stream); n != 1 || err != nil {
		t.Fatalf("%d restored, %v", n, err)
	}
	foldtest.Apply(ctx, t, w.Empty(ctx, t), log)
	if letters := w.Letters(ctx, t); letters == "" {
		t.Error("nothing is set aside after the restoration")
	}
}

// TestDiscardedEventsStayOut gives an event up that only one version cannot apply, and checks that a rebuild by another
// version leaves it out too.
func TestDiscardedEventsStayOut(t *testing.T) {
	t.Parallel()
	ctx := projectionstest.Context(t)
	w := foldtest.New(t, projections.Accounts)
	account := uuid.NewString()
	var log []eventstore.Recorded
	for revision, e := range []events.Event{
		events.AccountOpened{Account: account, Username: "one", KeyID: "first", KeyHash: "h", At: logtest.Noon},
		events.KeyChanged{KeyID: "first", KeyTerms: events.KeyTerms{Name: "wrong"}, At: logtest.Noon},
		events.PlanChanged{Plan: "pro", At: logtest.Noon},
	} {
		log = logtest.Record(log, events.StreamAccount+account, eventstore.Revision(revision), e)
	}
	w.StartOver(ctx, t)
	foldtest.Deliver(ctx, t, w.Projector(ctx, t, w.Poisoning(log[1].Position, false)), log)
	discard(ctx, w, t, "")
	want := w.Dump(ctx, t)
	if !strings.Contains(want, "pro") || strings.Contains(want, "wrong") {
		t.Fatalf("after the discard\n%s", want)
	}
	if found := w.Verify(ctx, t, log); found.Different > 0 {
		t.Errorf("verify finds %+v", found.Differences)
	}
	for _, bulk := range []bool{false, true} {
		w.StartOver(ctx, t)
		foldtest.Deliver(ctx, t, w.Projector(ctx, t, foldtest.InBulk(bulk)), log)
		if got := w.Dump(ctx, t); got != want {
			t.Errorf("a rebuild has\n%s, want\n%s", got, want)
		}
	}
}
