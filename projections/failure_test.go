package projections

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/events/eventstore/subscription"
	"linkledger/projections/engine"
	"linkledger/projections/engine/generation"
	"linkledger/projections/engine/projector"
	"linkledger/projections/engine/status"
	"linkledger/projections/keystore"
	"linkledger/projections/projection"
	"linkledger/projections/sqlbatch"
)

// poisoned returns a workshop whose projection fails at one event in a way that only applying the
// event reveals: with an error of PostgreSQL, or with a panic.
func (w *workshop) poisoned(at eventstore.Position, panics bool) *workshop {
	clone := *w
	clone.projection.Folds = func(master *keystore.MasterKey) projection.Folds {
		sound := w.projection.Folds(master)
		return projection.FoldsOf(
			func() projection.Fold { return &poisonedFold{Fold: sound.Next(), at: at, panics: panics} },
		)(master)
	}
	return &clone
}

type poisonedFold struct {
	projection.Fold
	at       eventstore.Position
	panics   bool
	poisoned bool
}

func (p *poisonedFold) Apply(f projection.Event) error {
	if f.Position == p.at && p.panics {
		panic("poison")
	}
	p.poisoned = p.poisoned || f.Position == p.at
	return p.Fold.Apply(f)
}

func (p *poisonedFold) Write(s *sqlbatch.Batch) []string {
	if p.poisoned {
		s.Queue("SELECT 1/0")
	}
	return p.Fold.Write(s)
}

// TestBisection draws histories with an event that cannot be applied. It checks that the events
// before it are applied, that the error names it, and that nothing else changes.
func TestBisection(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, Links)
	rapid.Check(t, func(t *rapid.T) {
		log := w.followed(drawHistory(t).log)
		if len(log) == 0 {
			return // there is no event to isolate
		}
		ctx := context.Background()
		poison := rapid.IntRange(0, len(log)-1).Draw(t, "poison")
		mustHandle(ctx, t, w.empty(ctx, t), log[:poison])
		want := w.dump(ctx, t)
		w.clear(ctx, t)

		w.startOver(ctx, t)
		p := w.projectorWith(ctx, t, w.poisoning(log[poison].Position, rapid.Bool().Draw(t, "panics")))
		failed, ok := errors.AsType[*projection.EventError](p.Apply(ctx, batchOf(log)))
		if !ok || failed.Position != log[poison].Position {
			t.Fatalf("failed with %v, want event %d, at %s", failed, poison, log[poison].Position)
		}
		if got := w.dump(ctx, t); got != want {
			t.Fatalf("tables\n%s, want\n%s", got, want)
		}
		w.clear(ctx, t)
	})
}

// TestParking parks an event and the events that follow in its stream. It checks that the tables
// equal those of an undisturbed run once the dead letters are applied.
func TestParking(t *testing.T) {
	t.Parallel()
	ctx := withTimeout(t)
	w := newWorkshop(t, Links)
	one, other := uuid.New().String(), uuid.New().String()
	created := func(id string) events.Event {
		return events.URLCreated{
			URLID: id, Account: uuid.Nil.String(), Hash: "h" + id, LongURL: "https://example.com/", At: noon,
		}
	}
	note := "second"
	log := record(nil, events.StreamURL+one, 0, created(one))
	log = record(log, events.StreamURL+other, 0, created(other))
	log = record(log, events.StreamURL+one, 1, events.URLRetargeted{LongURL: "https://example.com/first", At: noon})
	log = record(log, events.StreamURL+other, 1, events.URLSettingsChanged{Note: &note, At: noon})
	log = record(log, events.StreamURL+one, 2, events.URLRetargeted{LongURL: "https://example.com/last", At: noon})
	mustHandle(ctx, t, w.projector(ctx, t), log)
	want := w.dump(ctx, t)

	w.startOver(ctx, t)
	p := w.poisoned(log[2].Position, false).projectorWith(ctx, t, parking)
	mustHandle(ctx, t, p, log[:4])
	mustHandle(ctx, t, p, log[4:])
	if p.Position() != log[4].Position {
		t.Errorf("the checkpoint is %s", p.Position())
	}
	letters, err := DeadLetters(ctx, w.db, Links)
	if err != nil || len(letters) != 2 || letters[0].EventID != log[2].ID || letters[1].EventID != log[4].ID {
		t.Fatalf("letters %+v, %v", letters, err)
	}
	if !strings.Contains(letters[0].Error, "division by zero") ||
		letters[1].Error != "follows a dead letter of its stream" {
		t.Errorf("letters %+v", letters)
	}
	if dump := w.dump(ctx, t); !strings.Contains(dump, note) || strings.Contains(dump, "/last") {
		t.Errorf("tables while letters are parked:\n%s", dump)
	}
	if n, err := RetryDeadLetters(ctx, w.db, Links, ""); n != 2 || err != nil {
		t.Fatalf("%d letters applied, %v", n, err)
	}
	if got := w.dump(ctx, t); got != want {
		t.Errorf("tables\n%s, want\n%s", got, want)
	}
	if err := p.Apply(
		ctx, subscription.Batch{Position: eventstore.Position{Commit: 1 << 40}},
	); !errors.Is(err, generation.ErrFenced) {
		t.Errorf("the owner from before the retry: %v", err)
	}
}

func TestDiscardedLettersAndRefusals(t *testing.T) {
	t.Parallel()
	ctx := withTimeout(t)
	w := newWorkshop(t, Tags)
	stream := events.StreamTags + uuid.New().String()
	log := record(nil, stream, 0, events.TagRenamed{TagID: uuid.New().String(), At: noon})
	p := w.projectorWith(ctx, t, parking)
	mustHandle(ctx, t, p, log)
	if n, err := RetryDeadLetters(ctx, w.db, Tags, stream); n != 0 || !errors.Is(err, projection.ErrContradiction) {
		t.Errorf("%d letters applied, %v", n, err)
	}
	if n, err := DiscardDeadLetters(ctx, w.db, Tags, "tags-other"); n != 0 || err != nil {
		t.Errorf("%d letters of another stream, %v", n, err)
	}
	if n, err := DiscardDeadLetters(ctx, w.db, Tags, ""); n != 1 || err != nil {
		t.Errorf("%d letters discarded, %v", n, err)
	}
	_, unknown := RetryDeadLetters(ctx, w.db, "painting", "")
	for _, err := range []error{unknown, Pause(ctx, w.db, "painting"), Resume(ctx, w.db, "painting")} {
		if !errors.Is(err, projection.ErrUnknown) {
			t.Errorf("unknown projection: %v", err)
		}
	}
}

// TestPauseAndOverview pauses and resumes a running projection, and checks the overview for
// operators.
func TestPauseAndOverview(t *testing.T) {
	t.Parallel()
	ctx := withTimeout(t)
	db, store := openDatabase(t), eventstoretest.New(t)
	w, progress := newWriter(t, store), newProgressLog()
	board := &status.Registry{}
	run(t, engine.Config{DB: db, Store: store, OnCommit: progress.advance, Owner: "me", Registry: board})
	awaitStatus(t, board, func(s status.Status) bool { return s.Owned })
	account := w.account()
	_, at := w.link(account, "a")
	progress.wait(t, at, Links)
	if err := Pause(ctx, db, Links); err != nil {
		t.Fatal(err)
	}
	_, at = w.link(account, "b")
	progress.wait(t, at, Tree, History, Activity)
	overviews, err := Overviews(ctx, db, store)
	if err != nil || len(overviews) != len(Names()) {
		t.Fatalf("%+v, %v", overviews, err)
	}
	for _, o := range overviews {
		paused := o.Name == Links
		if paused != (o.State == status.Paused) || paused != (o.LagEvents == 1) || paused != (o.Lag > 0) ||
			paused != (o.Owner == "") {
			t.Errorf("overview %+v", o)
		}
	}
	if err := Resume(ctx, db, Links); err != nil {
		t.Fatal(err)
	}
	progress.wait(t, at, Links)
}

// TestNextOwnerHasNotStopped stops the owner at an event and lets the next owner park it. It checks
// that the projection then continues, and that its status does not say that it has stopped.
func TestNextOwnerHasNotStopped(t *testing.T) {
	t.Parallel()
	ctx := withTimeout(t)
	db, store := openDatabase(t), eventstoretest.New(t)
	w, progress := newWriter(t, store), newProgressLog()
	account, board := w.account(), &status.Registry{}
	stop := run(t, engine.Config{DB: db, Store: store, OnCommit: progress.advance, Registry: board})
	// An event of a link that does not exist.
	w.append(events.StreamURL+uuid.NewString(), events.URLRetargeted{LongURL: "https://example.com/", At: noon})
	awaitStatus(
		t, board, func(s status.Status) bool { return s.Stopped == (s.Projection == Links || s.Projection == History) },
	)
	stop()
	_, at := w.link(account, "after")
	board = &status.Registry{}
	run(t, engine.Config{DB: db, Store: store, OnCommit: progress.advance, Registry: board, Policy: projector.Park})
	progress.wait(t, at, Links, History)
	for _, s := range board.All() {
		if s.Stopped || s.Err != nil {
			t.Errorf("status %+v", s)
		}
	}
	overviews, err := Overviews(ctx, db, store)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range overviews {
		if o.State == status.Stopped {
			t.Errorf("overview %+v", o)
		}
	}
}
