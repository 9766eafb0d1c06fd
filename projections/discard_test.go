package projections

import (
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"linkledger/events"
	"linkledger/events/eventstore"
)

// discard gives up the first dead letters of a stream, or of all.
func (w *workshop) discard(ctx context.Context, t fatalf, stream string) {
	t.Helper()
	if _, err := DiscardDeadLetters(ctx, w.db, w.projection.Name, stream); err != nil {
		t.Fatalf("discard: %v", err)
	}
}

// forget makes the next generation apply discarded events.
func (w *workshop) forget(ctx context.Context, t fatalf) {
	t.Helper()
	if _, err := RestoreDiscarded(ctx, w.db, w.projection.Name, ""); err != nil {
		t.Fatalf("restore: %v", err)
	}
}

// TestDiscardsAndRebuildsAgree applies events of which many contradict their stream, and gives dead letters up in
// between. It checks after each step that the tables are those of a replay. Once nothing is set aside, the tables are
// those of a rebuild, which sets nothing aside either.
func TestDiscardsAndRebuildsAgree(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, Accounts)
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		w.forget(ctx, t)
		log := w.followed(drawContradictions(t))
		w.startOver(ctx, t)
		check := func() {
			t.Helper()
			if found := w.verify(ctx, t, log); found.Different > 0 {
				t.Fatalf("verify finds %+v", found.Differences)
			}
		}
		for done := 0; done < len(log); {
			next := rapid.IntRange(done+1, len(log)).Draw(t, "next")
			w.deliver(ctx, t, w.projector(ctx, t), log[done:next])
			done = next
			check()
			if rapid.Bool().Draw(t, "discard") {
				stream := rapid.SampledFrom([]string{"", log[0].Stream, log[len(log)-1].Stream}).Draw(t, "stream")
				w.discard(ctx, t, stream)
				check()
			}
		}
		for range log {
			w.discard(ctx, t, "")
		}
		check()
		if letters := w.letters(ctx, t); letters != "" {
			t.Fatalf("still set aside\n%s", letters)
		}
		got := w.dump(ctx, t)
		w.clear(ctx, t)

		w.startOver(ctx, t)
		w.deliver(ctx, t, w.projectorWith(ctx, t, inBulk(rapid.Bool().Draw(t, "bulk"))), log)
		if want := w.dump(ctx, t); got != want {
			t.Fatalf("after the discards\n%s, want those of a rebuild\n%s", got, want)
		}
		if letters := w.letters(ctx, t); letters != "" {
			t.Fatalf("a rebuild sets aside\n%s", letters)
		}
		w.clear(ctx, t)
	})
}

// TestDiscardsInAllGenerations gives an event up that two generations have set aside.
func TestDiscardsInAllGenerations(t *testing.T) {
	t.Parallel()
	ctx := withTimeout(t)
	w := newWorkshop(t, Accounts)
	account := uuid.NewString()
	stream := events.StreamAccount + account
	var log []eventstore.Recorded
	for revision, e := range []events.Event{
		events.AccountOpened{Account: account, Username: "one", KeyID: "first", KeyHash: "h", At: noon},
		events.KeyChanged{KeyID: "none", At: noon},
		events.KeyChanged{KeyID: "first", KeyTerms: events.KeyTerms{Name: "after"}, At: noon},
	} {
		log = record(log, stream, eventstore.Revision(revision), e)
	}
	mustHandle(ctx, t, w.empty(ctx, t), log)
	kept := w.schema()
	w.exec(ctx, t, `CREATE TABLE former AS SELECT * FROM linkledger.generations;
		CREATE TABLE former_letters AS SELECT * FROM linkledger.dead_letters`)
	mustHandle(ctx, t, w.empty(ctx, t), log)
	w.exec(ctx, t, `DELETE FROM former WHERE name <> 'accounts'; UPDATE former SET serving = false;
		INSERT INTO linkledger.generations SELECT * FROM former;
		INSERT INTO linkledger.dead_letters SELECT * FROM former_letters`)

	done, err := DiscardDeadLetters(ctx, w.db, w.projection.Name, "")
	if err != nil || done.Discarded != 1 || done.Applied != 1 || done.Left != 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	if letters := w.letters(ctx, t); letters != "" {
		t.Errorf("still set aside\n%s", letters)
	}
	if got, want := dumpSchema(ctx, t, w.db, kept), w.dump(ctx, t); got != want {
		t.Errorf("the kept generation has\n%s, want\n%s", got, want)
	}
	if found, err := DiscardedEvents(ctx, w.db, ""); err != nil || len(found) != 1 || found[0].Revision != 1 {
		t.Errorf("discarded events %+v, %v", found, err)
	}
	// A restored event is set aside again.
	if n, err := RestoreDiscarded(ctx, w.db, w.projection.Name, stream); n != 1 || err != nil {
		t.Fatalf("%d restored, %v", n, err)
	}
	mustHandle(ctx, t, w.empty(ctx, t), log)
	if letters := w.letters(ctx, t); letters == "" {
		t.Error("nothing is set aside after the restoration")
	}
}

// TestDiscardedEventsStayOut gives an event up that only one version cannot apply, and checks that a rebuild by another
// version leaves it out too.
func TestDiscardedEventsStayOut(t *testing.T) {
	t.Parallel()
	ctx := withTimeout(t)
	w := newWorkshop(t, Accounts)
	account := uuid.NewString()
	var log []eventstore.Recorded
	for revision, e := range []events.Event{
		events.AccountOpened{Account: account, Username: "one", KeyID: "first", KeyHash: "h", At: noon},
		events.KeyChanged{KeyID: "first", KeyTerms: events.KeyTerms{Name: "wrong"}, At: noon},
		events.PlanChanged{Plan: "pro", At: noon},
	} {
		log = record(log, events.StreamAccount+account, eventstore.Revision(revision), e)
	}
	w.startOver(ctx, t)
	w.deliver(ctx, t, w.projectorWith(ctx, t, w.poisoning(log[1].Position, false)), log)
	w.discard(ctx, t, "")
	want := w.dump(ctx, t)
	if !strings.Contains(want, "pro") || strings.Contains(want, "wrong") {
		t.Fatalf("after the discard\n%s", want)
	}
	if found := w.verify(ctx, t, log); found.Different > 0 {
		t.Errorf("verify finds %+v", found.Differences)
	}
	for _, bulk := range []bool{false, true} {
		w.startOver(ctx, t)
		w.deliver(ctx, t, w.projectorWith(ctx, t, inBulk(bulk)), log)
		if got := w.dump(ctx, t); got != want {
			t.Errorf("a rebuild has\n%s, want\n%s", got, want)
		}
	}
}
