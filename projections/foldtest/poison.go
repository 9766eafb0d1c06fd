package foldtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/projections/engine/deadletter"
	"linkledger/projections/engine/projector"
	"linkledger/projections/engine/status"
	"linkledger/projections/engine/verify"
	"linkledger/projections/logtest"
	"linkledger/projections/projection"
	"linkledger/projections/projectionstest"
	"linkledger/projections/sqlbatch"
)

// Poisoning configures a projector to fail when it applies one event: with a panic if panics is
// true, or else with an error of PostgreSQL.
func (w *Workshop) Poisoning(at eventstore.Position, panics bool) func(*projector.Config) {
	folds := w.Projection.Folds
	return func(cfg *projector.Config) {
		cfg.Definition.Folds = func(given projection.Given) projection.Folds {
			return poisonedFolds{folds(given), at, panics}
		}
	}
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

// Letters lists the events that are set aside as dead letters, one per line.
func (w *Workshop) Letters(ctx context.Context, t projectionstest.T) string {
	t.Helper()
	letters, err := deadletter.List(ctx, w.DB, w.Projection.Name)
	if err != nil {
		t.Fatalf("dead letters: %v", err)
	}
	all := make([]string, len(letters))
	for i, l := range letters {
		all[i] = fmt.Sprint(l.Stream, " ", l.Revision, " ", l.Type)
	}
	return strings.Join(all, "\n")
}

// Log is a log that does not grow.
type Log []eventstore.Recorded

// Head returns the position of the last event.
func (l Log) Head(context.Context) (at eventstore.Position, err error) {
	if len(l) > 0 {
		at = l[len(l)-1].Position
	}
	return at, nil
}

// ReadLog calls handle with the events after the position behind and up to the position upTo.
func (l Log) ReadLog(
	_ context.Context, behind, upTo eventstore.Position,
	handle func([]eventstore.Recorded) error,
) error {
	return handle(slices.DeleteFunc(slices.Clone(l), func(e eventstore.Recorded) bool {
		return !e.Position.After(behind) || e.Position.After(upTo)
	}))
}

// Verify compares the current generation with a log.
func (w *Workshop) Verify(ctx context.Context, t projectionstest.T, log []eventstore.Recorded) verify.Result {
	t.Helper()
	found, err := verify.Run(ctx, w.DB, Log(log), w.Projection, func([]status.Progress) {})
	if err != nil {
		t.Fatalf("verify: %v", err)
	}
	return found
}

// SetsAside checks what a projection does with an event that contradicts the sound events before it
// in its stream. The projection must set aside this event and the next event of the stream, and
// must apply all other events of the log.
func SetsAside(t *testing.T, name, stream string, sound []events.Event, impossible events.Event) {
	t.Helper()
	ctx, w := projectionstest.Context(t), New(t, name)
	log := logtest.Record(nil, stream, 0, sound...)
	before := len(log)
	log = logtest.Record(log, stream, eventstore.Revision(before), impossible, impossible)
	other := projectionstest.TagCreated(uuid.New())
	log = logtest.Record(log, events.StreamTags+other.Account, 0, other)
	after := w.Followed(log[before+2:])

	Apply(ctx, t, w.Projector(ctx, t), slices.Concat(log[:before+2], after))
	letters, err := deadletter.List(ctx, w.DB, name)
	if err != nil || len(letters) != 2 || letters[0].EventID != log[before].ID {
		t.Fatalf("letters %+v, %v", letters, err)
	}
	follows := deadletter.ErrFollows.Error()
	if letters[0].Error == follows ||
		letters[1].Error == follows == projection.Independent(stream) {
		t.Errorf("letters %+v", letters)
	}
	w.hasOnly(ctx, t, slices.Concat(log[:before], after))
}

// SetsStrangerAside checks that a projection sets the foreign event aside. That event would change
// the rows of the sound event although it is in another stream. The names of both streams begin
// with prefix.
func SetsStrangerAside(t *testing.T, name, prefix string, sound, foreign events.Event) {
	t.Helper()
	ctx, w := projectionstest.Context(t), New(t, name)
	applied := logtest.Record(nil, prefix+uuid.NewString(), 0, sound)
	log := logtest.Record(applied, prefix+uuid.NewString(), 0, foreign)
	Apply(ctx, t, w.Projector(ctx, t), log)
	letters, err := deadletter.List(ctx, w.DB, name)
	if err != nil || len(letters) != 1 || letters[0].EventID != log[1].ID {
		t.Errorf("letters %+v, %v", letters, err)
	}
	w.hasOnly(ctx, t, applied)
}

// hasOnly checks that the tables are the same as those of a new generation to which a log was
// applied.
func (w *Workshop) hasOnly(ctx context.Context, t *testing.T, log []eventstore.Recorded) {
	t.Helper()
	got := w.Dump(ctx, t)
	Apply(ctx, t, w.Empty(ctx, t), log)
	if want := w.Dump(ctx, t); got != want {
		t.Errorf("tables\n%s, want\n%s", got, want)
	}
}
