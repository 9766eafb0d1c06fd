package projections

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"pgregory.net/rapid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/events/eventstore/subscription"
)

func TestTransient(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"connection": {&pgconn.PgError{Code: "08006"}, true}, "serialization": {&pgconn.PgError{Code: "40001"}, true},
		"deadlock": {&pgconn.PgError{Code: "40P01"}, true}, "disk full": {&pgconn.PgError{Code: "53100"}, true},
		"shutdown": {&pgconn.PgError{Code: "57P01"}, true}, "statement timeout": {&pgconn.PgError{Code: "57014"}, true},
		"lock timeout": {&pgconn.PgError{Code: "55P03"}, true}, "standby": {&pgconn.PgError{Code: "25006"}, true},
		"cut off": {io.ErrUnexpectedEOF, true}, "event store": {eventstore.ErrUnavailable, true}, "fenced": {ErrFenced, true},
		"value too long": {&pgconn.PgError{Code: "22001"}, false}, "duplicate": {&pgconn.PgError{Code: "23505"}, false},
		"no such table": {&pgconn.PgError{Code: "42P01"}, false}, "panic": {errPanicked, false},
		"event": {newEventError(eventstore.Recorded{}, 0, io.EOF), false}, "no code": {&pgconn.PgError{}, false},
	} {
		if got := transient(fmt.Errorf("wrapped: %w", tc.err)); got != tc.want {
			t.Errorf("%s: transient is %v", name, got)
		}
	}
}

// poisoned makes the workshop's projection fail at one event in a way that only trying tells: with an error of
// PostgreSQL, or a panic.
func (w *workshop) poisoned(at eventstore.Position, panics bool) *workshop {
	clone := *w
	clone.projection.fold = func() fold { return &poisonedFold{fold: w.projection.fold(), at: at, panics: panics} }
	return &clone
}

type poisonedFold struct {
	fold
	at       eventstore.Position
	panics   bool
	poisoned bool
}

func (p *poisonedFold) step(f fact) error {
	if f.Position == p.at && p.panics {
		panic("poison")
	}
	p.poisoned = p.poisoned || f.Position == p.at
	return p.fold.step(f)
}

func (p *poisonedFold) write(s *statements) []string {
	if p.poisoned {
		s.queue("SELECT 1/0")
	}
	return p.fold.write(s)
}

// TestBisection draws histories with an event that can't be applied: what precedes it is applied, it is named, and
// nothing else changes.
func TestBisection(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, Links)
	rapid.Check(t, func(t *rapid.T) {
		log := w.followed(drawHistory(t).log)
		if len(log) == 0 {
			return // nothing to isolate an event from
		}
		ctx := context.Background()
		poison := rapid.IntRange(0, len(log)-1).Draw(t, "poison")
		mustHandle(ctx, t, w.empty(ctx, t), log[:poison])
		want := w.dump(ctx, t)
		w.clear(ctx, t)

		p := w.empty(ctx, t)
		p.projection = w.poisoned(log[poison].Position, rapid.Bool().Draw(t, "panics")).projection
		failed, ok := errors.AsType[*EventError](p.applyBatch(ctx, batchOf(log)))
		if !ok || failed.Position != log[poison].Position {
			t.Fatalf("failed with %v, want event %d, at %s", failed, poison, log[poison].Position)
		}
		if got := w.dump(ctx, t); got != want {
			t.Fatalf("tables\n%s, want\n%s", got, want)
		}
		w.clear(ctx, t)
	})
}

// TestParking parks an event and what follows in its stream, and gets the same tables as an undisturbed run once the
// letters were applied after all.
func TestParking(t *testing.T) {
	t.Parallel()
	ctx := withPatience(t)
	w := newWorkshop(t, Links)
	one, other := uuid.New().String(), uuid.New().String()
	created := func(id string) events.Event {
		return events.URLCreated{URLID: id, Account: uuid.Nil.String(), Hash: "h" + id, LongURL: "https://example.com/", At: noon}
	}
	note := "second"
	log := record(nil, events.StreamURL+one, 0, created(one))
	log = record(log, events.StreamURL+other, 0, created(other))
	log = record(log, events.StreamURL+one, 1, events.URLRetargeted{LongURL: "https://example.com/first", At: noon})
	log = record(log, events.StreamURL+other, 1, events.URLSettingsChanged{Note: &note, At: noon})
	log = record(log, events.StreamURL+one, 2, events.URLRetargeted{LongURL: "https://example.com/last", At: noon})
	mustHandle(ctx, t, w.projector(ctx, t), log)
	want := w.dump(ctx, t)

	p := w.empty(ctx, t)
	p.projection, p.policy = w.poisoned(log[2].Position, false).projection, Park
	mustHandle(ctx, t, p, log[:4])
	mustHandle(ctx, t, p, log[4:])
	if p.at.position != log[4].Position {
		t.Errorf("the checkpoint is %s", p.at.position)
	}
	letters, err := DeadLetters(ctx, w.db, Links)
	if err != nil || len(letters) != 2 || letters[0].EventID != log[2].ID || letters[1].EventID != log[4].ID {
		t.Fatalf("letters %+v, %v", letters, err)
	}
	if !strings.Contains(letters[0].Error, "division by zero") || letters[1].Error != errFollows.Error() {
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
	if err := p.applyBatch(ctx, subscription.Batch{Position: eventstore.Position{Commit: 1 << 40}}); !errors.Is(err, ErrFenced) {
		t.Errorf("the owner that knew of the letters: %v", err)
	}
}

func TestDiscardedLettersAndRefusals(t *testing.T) {
	t.Parallel()
	ctx := withPatience(t)
	w := newWorkshop(t, Tags)
	stream := events.StreamTags + uuid.New().String()
	log := record(nil, stream, 0, events.TagRenamed{TagID: uuid.New().String(), At: noon})
	p := w.projector(ctx, t)
	p.policy = Park
	mustHandle(ctx, t, p, log)
	if n, err := RetryDeadLetters(ctx, w.db, Tags, stream); n != 0 || !errors.Is(err, ErrContradiction) {
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
		if !errors.Is(err, ErrUnknownProjection) {
			t.Errorf("unknown projection: %v", err)
		}
	}
}

// TestPauseAndOverview pauses and resumes a running projection, and sees what operators see.
func TestPauseAndOverview(t *testing.T) {
	t.Parallel()
	ctx := withPatience(t)
	db, store := openDatabase(t), eventstoretest.New(t)
	w, progress := newWriter(t, store), newProgressLog()
	board := &Board{}
	run(t, Config{DB: db, Store: store, OnCommit: progress.advance, Owner: "me", Board: board})
	awaitStatus(t, board, func(s Status) bool { return s.Owned })
	account := w.account()
	_, at := w.link(account, "a")
	progress.wait(t, at, Links)
	if err := Pause(ctx, db, Links); err != nil {
		t.Fatal(err)
	}
	_, at = w.link(account, "b")
	progress.wait(t, at, Tree, History)
	overviews, err := Overviews(ctx, db, store)
	if err != nil || len(overviews) != len(Names()) {
		t.Fatalf("%+v, %v", overviews, err)
	}
	for _, o := range overviews {
		paused := o.Name == Links
		if paused != (o.State == Paused) || paused != (o.LagEvents == 1) || paused != (o.Lag > 0) || paused != (o.Owner == "") {
			t.Errorf("overview %+v", o)
		}
	}
	if err := Resume(ctx, db, Links); err != nil {
		t.Fatal(err)
	}
	progress.wait(t, at, Links)
}

// TestNextOwnerHasNotStopped has an owner stop before an event, and the next one set it aside: nothing stands still any more, and
// operators see that.
func TestNextOwnerHasNotStopped(t *testing.T) {
	t.Parallel()
	ctx := withPatience(t)
	db, store := openDatabase(t), eventstoretest.New(t)
	w, progress := newWriter(t, store), newProgressLog()
	account, board := w.account(), &Board{}
	stop := run(t, Config{DB: db, Store: store, OnCommit: progress.advance, Board: board})
	w.append(events.StreamURL+uuid.NewString(), events.URLRetargeted{LongURL: "https://example.com/", At: noon}) // of no link
	awaitStatus(t, board, func(s Status) bool { return s.Stopped == (s.Projection == Links || s.Projection == History) })
	stop()
	_, at := w.link(account, "after")
	board = &Board{}
	run(t, Config{DB: db, Store: store, OnCommit: progress.advance, Board: board, Policy: Park})
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
		if o.State == Stopped {
			t.Errorf("overview %+v", o)
		}
	}
}
