package projections

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"pgregory.net/rapid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/events/eventstore/subscription"
	"linkledger/projections/engine"
	"linkledger/projections/engine/generation"
	"linkledger/projections/engine/projector"
	"linkledger/projections/engine/status"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
)

// poisoned returns a workshop whose projection fails at one event in a way that only applying the
// event reveals: with an error of PostgreSQL, or with a panic.
func (w *workshop) poisoned(at eventstore.Position, panics bool) *workshop {
	clone := *w
	clone.projection.Folds = func(given projection.Given) projection.Folds {
		return poisonedFolds{w.projection.Folds(given), at, panics}
	}
	return &clone
}

type poisonedFolds struct {
	projection.Folds
	at     eventstore.Position
	panics bool
}

func (p poisonedFolds) Next() projection.Fold { return p.poison(p.Folds.Next()) }

func (p poisonedFolds) poison(sound projection.Fold) projection.Fold {
	return &poisonedFold{Fold: sound, at: p.at, panics: p.panics}
}

func (p poisonedFolds) Loader() projection.Loader {
	if loader := p.Folds.Loader(); loader != nil {
		return poisonedLoader{loader, p}
	}
	return nil
}

type poisonedLoader struct {
	projection.Loader
	folds poisonedFolds
}

func (p poisonedLoader) Next() projection.Fold { return p.folds.poison(p.Loader.Next()) }

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

// TestBisection draws histories with an event that cannot be applied, of a generation that serves or
// is filled. It checks that this event and the later ones of its stream are set aside, and that all
// others are applied. A later deletion of the link is set aside and takes effect.
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
		mustHandle(ctx, t, w.empty(ctx, t), applied)
		want := w.dump(ctx, t)
		w.clear(ctx, t)

		w.startOver(ctx, t)
		poisoning := w.poisoning(log[poison].Position, rapid.Bool().Draw(t, "panics"))
		bulk := rapid.Bool().Draw(t, "bulk")
		p := w.projectorWith(ctx, t, func(cfg *projector.Config) {
			poisoning(cfg)
			cfg.Building = bulk
		})
		w.deliver(ctx, t, p, log)
		if bulk {
			mustComplete(ctx, t, p)
		}
		parked, err := DeadLetters(ctx, w.db, Links)
		if err != nil || len(parked) != letters || parked[0].EventID != log[poison].ID {
			t.Fatalf("%d letters, %+v, %v; want %d from event %d on", len(parked), parked, err, letters, poison)
		}
		if got := w.dump(ctx, t); got != want {
			t.Fatalf("tables\n%s, want\n%s", got, want)
		}
		w.clear(ctx, t)
	})
}

// isLive reports whether the events of a stream have made a link that is not deleted.
func isLive(log []eventstore.Recorded, stream string) (live bool) {
	for _, r := range log {
		if r.Stream != stream {
			continue
		}
		switch r.Type {
		case events.URLCreated{}.EventType(), events.URLRestored{}.EventType():
			live = true
		case events.URLDeleted{}.EventType():
			live = false
		}
	}
	return live
}

// deliver delivers a log as a subscription does: after an error again, from the checkpoint.
func (w *workshop) deliver(ctx context.Context, t fatalf, p *projector.Projector, log []eventstore.Recorded) {
	t.Helper()
	var err error
	for range 3 {
		if _, err := p.Checkpoint(ctx); err != nil {
			t.Fatalf("checkpoint: %v", err)
		}
		if err = errors.Join(p.Apply(ctx, batchOf(log)), p.Settle(ctx)); err == nil {
			return
		}
	}
	t.Fatalf("deliver %d events: %v", len(log), err)
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
	p := w.poisoned(log[2].Position, false).projector(ctx, t)
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
	summaries, err := SetAside(ctx, w.db)
	if err != nil || len(summaries) != 1 || summaries[0].Streams != 1 || summaries[0].Stream != log[2].Stream ||
		!strings.Contains(summaries[0].Error, "division by zero") {
		t.Errorf("summaries %+v, %v", summaries, err)
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
	p := w.projector(ctx, t)
	mustHandle(ctx, t, p, log)
	if n, err := RetryDeadLetters(ctx, w.db, Tags, stream); n != 0 || !errors.Is(err, projection.ErrContradiction) {
		t.Errorf("%d letters applied, %v", n, err)
	}
	if done, err := DiscardDeadLetters(ctx, w.db, Tags, "tags-other"); done.Discarded != 0 || err != nil {
		t.Errorf("%+v of another stream, %v", done, err)
	}
	if done, err := DiscardDeadLetters(ctx, w.db, Tags, ""); done.Discarded != 1 || err != nil {
		t.Errorf("%+v, %v", done, err)
	}
	_, unknown := RetryDeadLetters(ctx, w.db, "painting", "")
	_, letters := DeadLetters(ctx, w.db, "painting")
	_, discarded := DiscardedEvents(ctx, w.db, "painting")
	for _, err := range []error{
		unknown, letters, discarded, Pause(ctx, w.db, "painting"), Resume(ctx, w.db, "painting"),
	} {
		if !errors.Is(err, projection.ErrUnknown) {
			t.Errorf("unknown projection: %v", err)
		}
	}
}

// TestTooManyParkedStreams checks that a projection stops at an event that cannot be applied if too
// many streams are set aside: then the program is at fault.
func TestTooManyParkedStreams(t *testing.T) {
	t.Parallel()
	ctx := withTimeout(t)
	w := newWorkshop(t, Tags)
	var log []eventstore.Recorded
	for range 3 {
		stream := events.StreamTags + uuid.New().String()
		log = record(log, stream, 0, events.TagDeleted{TagID: uuid.New().String(), At: noon})
	}
	p := w.projectorWith(ctx, t, func(cfg *projector.Config) { cfg.MaxParked = 2 })
	err := p.Apply(ctx, batchOf(log))
	failed, ok := errors.AsType[*projection.EventError](err)
	if !ok || failed.Position != log[2].Position || p.Position() != log[1].Position {
		t.Errorf("%v at %s", err, p.Position())
	}
	if letters, err := DeadLetters(ctx, w.db, Tags); err != nil || len(letters) != 2 {
		t.Errorf("letters %+v, %v", letters, err)
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

// TestNextOwnerTriesAgain sets an event aside, and lets the next owner of the projection try it again
// when its cause is gone. Under the policy Stop the same owner tries it regularly.
func TestNextOwnerTriesAgain(t *testing.T) {
	t.Parallel()
	for _, policy := range []engine.Policy{engine.Stop, engine.Park} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			ctx, db, store := withTimeout(t), openDatabase(t), eventstoretest.New(t)
			w, progress := newWriter(t, store), newProgressLog()
			cfg := engine.Config{
				DB: db, Store: store, OnCommit: progress.advance, Registry: &status.Registry{}, Policy: policy,
				RetryInterval: 20 * time.Millisecond,
			}
			stop := run(t, cfg)
			account := w.account()
			missing := events.TagCreated{
				TagID: uuid.NewString(), Account: account.String(), Label: "l", At: noon,
			}
			at := w.append(events.StreamTags+account.String(), events.TagRenamed{TagID: missing.TagID, Label: "m", At: noon})
			_, after := w.link(account, "after")
			progress.wait(t, at, Tags, History)
			progress.wait(t, after, Links)
			for _, s := range cfg.Registry.All() {
				if s.Stopped || s.Err != nil {
					t.Errorf("status %+v", s)
				}
			}
			// As if a version that knows the tag took over.
			schema := bun.Ident(readmodel.GenerationSchema(Tags, generation.First))
			if _, err := db.NewRaw("INSERT INTO ?.tags (id, account_id, label, created_at, position) VALUES (?, ?, 'l', now(), 1)",
				schema, missing.TagID, account).Exec(ctx); err != nil {
				t.Fatal(err)
			}
			if policy == engine.Park {
				stop()
				run(t, cfg)
			}
			for count(t, db, "SELECT count(*) FROM linkledger.dead_letters WHERE name = 'tags'") > 0 {
				if ctx.Err() != nil {
					t.Fatal("the dead letters are not tried again")
				}
			}
			if n := count(t, db, "SELECT count(*) FROM linkledger.tags WHERE label = 'm'"); n != 1 {
				t.Error("the tag is not renamed")
			}
		})
	}
}
