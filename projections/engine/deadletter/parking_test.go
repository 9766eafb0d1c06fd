package deadletter_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/subscription"
	"linkledger/projections"
	"linkledger/projections/engine/deadletter"
	"linkledger/projections/engine/generation"
	"linkledger/projections/foldtest"
	"linkledger/projections/logtest"
	"linkledger/projections/projection"
	"linkledger/projections/projectionstest"
)

// TestParking parks an event and the events that follow in its stream. It checks that the tables
// equal those of an undisturbed run once the dead letters are applied.
func TestParking(t *testing.T) {
	t.Parallel()
	ctx := projectionstest.Context(t)
	w := foldtest.New(t, projections.Links)
	one, other := uuid.New().String(), uuid.New().String()
	created := func(id string) events.Event {
		return events.URLCreated{
			URLID: id, Account: uuid.Nil.String(), Hash: "h" + id, LongURL: "https://example.com/", At: logtest.Noon,
		}
	}
	note := "second"
	log := logtest.Record(nil, events.StreamURL+one, 0, created(one))
	log = logtest.Record(log, events.StreamURL+other, 0, created(other))
	log = logtest.Record(log, events.StreamURL+one, 1, events.URLRetargeted{LongURL: "https://example.com/first", At: logtest.Noon})
	log = logtest.Record(log, events.StreamURL+other, 1, events.URLSettingsChanged{Note: &note, At: logtest.Noon})
	log = logtest.Record(log, events.StreamURL+one, 2, events.URLRetargeted{LongURL: "https://example.com/last", At: logtest.Noon})
	foldtest.Apply(ctx, t, w.Projector(ctx, t), log)
	want := w.Dump(ctx, t)

	w.StartOver(ctx, t)
	p := w.Projector(ctx, t, w.Poisoning(log[2].Position, false))
	foldtest.Apply(ctx, t, p, log[:4])
	foldtest.Apply(ctx, t, p, log[4:])
	if p.Position() != log[4].Position {
		t.Errorf("the checkpoint is %s", p.Position())
	}
	letters, err := deadletter.List(ctx, w.DB, projections.Links)
	if err != nil || len(letters) != 2 || letters[0].EventID != log[2].ID || letters[1].EventID != log[4].ID {
		t.Fatalf("letters %+v, %v", letters, err)
	}
	if !strings.Contains(letters[0].Error, "division by zero") ||
		letters[1].Error != "follows a dead letter of its stream" {
		t.Errorf("letters %+v", letters)
	}
	if dump := w.Dump(ctx, t); !strings.Contains(dump, note) || strings.Contains(dump, "/last") {
		t.Errorf("tables while letters are parked:\n%s", dump)
	}
	summaries, err := deadletter.Summaries(ctx, w.DB)
	if err != nil || len(summaries) != 1 || summaries[0].Streams != 1 || summaries[0].Stream != log[2].Stream ||
		!strings.Contains(summaries[0].Error, "division by zero") {
		t.Errorf("summaries %+v, %v", summaries, err)
	}
	if n, err := deadletter.Retry(ctx, w.DB, w.Projection); n != 2 || err != nil {
		t.Fatalf("%d letters applied, %v", n, err)
	}
	if got := w.Dump(ctx, t); got != want {
		t.Errorf("tables\n%s, want\n%s", got, want)
	}
	if err := p.Apply(
		ctx, subscription.Batch{Position: eventstore.Position{Commit: 1 << 40}},
	); !errors.Is(err, generation.ErrFenced) {
		t.Errorf("the owner from before the retry: %v", err)
	}
}

// TestLettersOfAStream tries dead letters of one stream again, and gives them up.
func TestLettersOfAStream(t *testing.T) {
	t.Parallel()
	ctx := projectionstest.Context(t)
	w := foldtest.New(t, projections.Tags)
	stream := events.StreamTags + uuid.New().String()
	log := logtest.Record(nil, stream, 0, events.TagRenamed{TagID: uuid.New().String(), At: logtest.Noon})
	p := w.Projector(ctx, t)
	foldtest.Apply(ctx, t, p, log)
	if n, err := deadletter.Retry(ctx, w.DB, w.Projection, stream); n != 0 || !errors.Is(err, projection.ErrContradiction) {
		t.Errorf("%d letters applied, %v", n, err)
	}
	if done, err := deadletter.Discard(ctx, w.DB, w.Projection, "tags-other"); done.Discarded != 0 || err != nil {
		t.Errorf("%+v of another stream, %v", done, err)
	}
	if done, err := deadletter.Discard(ctx, w.DB, w.Projection, ""); done.Discarded != 1 || err != nil {
		t.Errorf("%+v, %v", done, err)
	}
}
