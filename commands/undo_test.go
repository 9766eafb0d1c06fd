package commands

import (
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"linkledger/commands/domain"
	"linkledger/commands/domain/undo"
	"linkledger/commands/linkwrite"
	"linkledger/events"
	"linkledger/events/eventstore"
)

// ownBatch returns a request with its own batch id.
// toUndo returns the request of a command that undoes a batch.
func toUndo(r domain.Request, batch string) domain.Request {
	r.Undoes.Batch = batch
	return r
}

func ownBatch(account string) domain.Request {
	r := request(account)
	r.Batch = r.Command.String()
	return r
}

// undo undoes the changes of a batch to a link, in another batch.
func (s *stack) undo(t *testing.T, batch, id string) linkwrite.Outcome {
	t.Helper()
	return s.Undo(t.Context(), toUndo(ownBatch("a"), batch), []string{id})[0]
}

func (s *stack) mustLoad(t *testing.T, id string) (domain.Link, eventstore.Revision) {
	t.Helper()
	loaded, err := s.streams.Load(t.Context(), events.LinkStream(id))
	if err != nil {
		t.Fatal(err)
	}
	return domain.FoldLink(loaded.Events), loaded.Revision()
}

// TestUndoEveryKindOfChange checks for every kind of change that undoing it leaves the link as it
// was, that a second undo does nothing, and that undoing the undo repeats the change.
func TestUndoEveryKindOfChange(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(s *stack, r domain.Request) error{
		"destination": func(s *stack, r domain.Request) error {
			_, err := s.edit(t, r, "one", EditURL{LongURL: new("https://example.com/2")})
			return err
		},
		"hash": func(s *stack, r domain.Request) error {
			_, err := s.edit(t, r, "one", EditURL{CustomHash: new("two")})
			return err
		},
		"settings": func(s *stack, r domain.Request) error {
			_, err := s.edit(t, r, "one", EditURL{
				Note: new("x"),
				SettingsChange: events.SettingsChange{
					EmailStats: new(true), Ping: new(true), Protected: new(true), Archived: new(true),
					ExpirationDate: new("2027-01-01"), MaxClicks: new(int64(7)),
				},
			})
			return err
		},
		"tags": func(s *stack, r domain.Request) error {
			_, err := s.edit(t, r, "one", EditURL{Tags: []string{"-a", "+d"}})
			return err
		},
		"deletion": func(s *stack, r domain.Request) error {
			return s.DeleteURLs(t.Context(), r, linkwrite.ByHash("one"))[0].Err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStack(t)
			made := s.create(
				t, request("a"),
				CreateURL{
					LongURL: "https://example.com/1", CustomHash: "one", Note: "n", Tags: []string{"a", "b", "c"},
				},
			)
			r := ownBatch("a")
			if err := change(s, r); err != nil {
				t.Fatal(err)
			}
			changed, _ := s.mustLoad(t, made.ID)
			undoing := ownBatch("a")
			if err := s.Undo(t.Context(), toUndo(undoing, r.Batch), []string{made.ID})[0].Err; err != nil {
				t.Fatal(err)
			}
			undone, at := s.mustLoad(t, made.ID)
			wantRecord(t, undone, made)
			if outcome := s.undo(t, r.Batch, made.ID); outcome.Err != nil {
				t.Fatal(outcome.Err)
			}
			if _, now := s.mustLoad(t, made.ID); now != at {
				t.Errorf("a second undo changed the link")
			}
			if outcome := s.undo(t, undoing.Batch, made.ID); outcome.Err != nil {
				t.Fatal(outcome.Err)
			}
			again, _ := s.mustLoad(t, made.ID)
			wantRecord(t, again, changed)
		})
	}
}

func TestUndoCreation(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	r := ownBatch("a")
	made := s.create(t, r, CreateURL{LongURL: "https://example.com/1", CustomHash: "one"})
	for range 2 {
		if outcome := s.undo(t, r.Batch, made.ID); outcome.Err != nil || !outcome.URL.Deleted {
			t.Fatalf("undone: %+v", outcome)
		}
	}
	s.wantTypes(t, events.LinkStream(made.ID), "url.created.v1", "url.deleted.v1")
	s.wantTypes(t, "hash-one", "hash.claimed.v1", "hash.released.v1")

	r = ownBatch("a")
	edited := s.create(t, r, CreateURL{LongURL: "https://example.com/2", CustomHash: "two"})
	s.mustEdit(t, "two", EditURL{Note: new("kept"), Tags: []string{"red"}})
	wantChanged(t, s.undo(t, r.Batch, edited.ID), "note", "tags")
}

func wantChanged(t *testing.T, outcome linkwrite.Outcome, fields ...string) {
	t.Helper()
	refused, ok := errors.AsType[*domain.Error](outcome.Err)
	if !ok || refused.Kind != domain.URLChanged || !slices.Equal(refused.Fields, fields) || outcome.URL.ID == "" {
		t.Errorf("%+v, want it refused because of %v", outcome, fields)
	}
}

// TestUndoLeavesWhatWasChangedSince checks that an undo leaves the link unchanged if one of its
// fields was changed since.
func TestUndoLeavesWhatWasChangedSince(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	made := s.create(t, request("a"), CreateURL{LongURL: "https://example.com/1", CustomHash: "one", Note: "n"})
	r := ownBatch("a")
	if _, err := s.edit(
		t, r, "one",
		EditURL{Note: new("x"), SettingsChange: events.SettingsChange{Archived: new(true)}, Tags: []string{"red"}},
	); err != nil {
		t.Fatal(err)
	}
	s.mustEdit(t, "one", EditURL{Note: new("y"), SettingsChange: events.SettingsChange{MaxClicks: new(int64(3))}})
	_, before := s.mustLoad(t, made.ID)
	wantChanged(t, s.undo(t, r.Batch, made.ID), "note")
	s.mustEdit(t, "one", EditURL{Note: new("x")}) // to the batch's value, but in another call
	wantChanged(t, s.undo(t, r.Batch, made.ID), "note")
	s.mustDelete(t, "one")
	wantChanged(t, s.undo(t, r.Batch, made.ID), "deleted", "note")
	if _, now := s.mustLoad(t, made.ID); now != before+2 {
		t.Errorf("the link has %d events more", now-before)
	}
}

func TestUndoDeletionOfGivenHash(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	first := s.create(t, request("a"), CreateURL{LongURL: "https://example.com/1", CustomHash: "one"})
	r := ownBatch("a")
	s.DeleteURLs(t.Context(), r, linkwrite.ByHash("one"))
	s.create(t, request("a"), CreateURL{LongURL: "https://example.com/2", CustomHash: "one"})
	outcome := s.undo(t, r.Batch, first.ID)
	if refused, ok := errors.AsType[*domain.Error](outcome.Err); !ok || refused.Kind != domain.HashUnavailable ||
		!slices.Equal(refused.Fields, []string{"hash"}) {
		t.Errorf("undone: %+v", outcome)
	}
	if outcome := s.Undo(t.Context(), toUndo(ownBatch("b"), r.Batch), []string{first.ID})[0]; domain.KindOf(
		outcome.Err,
	) != domain.URLNotFound {
		t.Errorf("by another account: %+v", outcome)
	}
}

func TestUndoStatsReset(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	made := s.create(t, request("a"), CreateURL{LongURL: "https://example.com/1", CustomHash: "one"})
	reset := func() domain.Request {
		r := ownBatch("a")
		if err := s.ResetStats(t.Context(), r, linkwrite.ByHash("one"))[0].Err; err != nil {
			t.Fatal(err)
		}
		return r
	}
	first, second := reset(), reset()
	wantChanged(t, s.undo(t, first.Batch, made.ID), "stats") // the second reset removed the clicks after the first
	undoing := ownBatch("a")
	for _, batch := range []string{second.Batch, first.Batch, first.Batch, second.Batch} {
		if outcome := s.Undo(t.Context(), toUndo(undoing, batch), []string{made.ID})[0]; outcome.Err != nil {
			t.Fatal(outcome.Err)
		}
		undoing.Command = uuid.New()
	}
	redone := s.undo(t, undoing.Batch, made.ID)
	wantChanged(t, redone, "stats")
	if text := redone.Err.Error(); strings.Contains(text, "since") {
		t.Errorf("nothing was changed since: %s", text)
	}
	loaded, err := s.streams.Load(t.Context(), events.LinkStream(made.ID))
	if err != nil {
		t.Fatal(err)
	}
	want := []events.Event{
		events.URLStatsRestored{Reset: 2, At: s.clock}, events.URLStatsRestored{Reset: 1, At: s.clock},
	}
	if !reflect.DeepEqual(loaded.Events[3:], want) {
		t.Errorf("undone by %+v", loaded.Events[3:])
	}
}

// TestUndoBatchOf50 undoes a batch that changed 50 links, two of which were changed since. The
// result lists these two with their fields, and the other 48 are as they were before the batch.
func TestUndoBatchOf50(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	creates, edits, ids := make([]CreateURL, 50), make([]EditURL, 50), make([]string, 50)
	for i := range creates {
		creates[i] = CreateURL{
			LongURL: "https://example.com/", CustomHash: "h" + strconv.Itoa(i), Tags: []string{"old"},
		}
		edits[i] = EditURL{
			Ref: linkwrite.Ref{Hash: creates[i].CustomHash}, Note: new("new"), Tags: []string{"-old"},
			SettingsChange: events.SettingsChange{Archived: new(true)},
		}
	}
	before := s.CreateURLs(t.Context(), ownBatch("a"), creates)
	for i, outcome := range before.Items {
		ids[i] = outcome.URL.ID
	}
	r := ownBatch("a")
	for _, outcome := range s.EditURLs(t.Context(), r, edits).Items {
		if outcome.Err != nil {
			t.Fatal(outcome.Err)
		}
	}
	s.mustEdit(t, "h7", EditURL{Note: new("mine")})
	s.mustDelete(t, "h9")
	for range 2 {
		for i, outcome := range s.Undo(t.Context(), toUndo(ownBatch("a"), r.Batch), ids) {
			switch i {
			case 7:
				wantChanged(t, outcome, "note")
			case 9:
				wantChanged(t, outcome, "deleted")
			default:
				if outcome.Err != nil {
					t.Fatal(outcome.Err)
				}
				wantRecord(t, outcome.URL, before.Items[i].URL)
			}
		}
	}
	if url, _ := s.mustLoad(t, ids[7]); url.Note != "mine" || !url.Archived {
		t.Errorf("changed since, and now %+v", url)
	}
}

// TestUndoOfAnyCall changes a link with random calls and undoes one of them. The undo either
// returns the link to its previous state except for what later calls changed, or it refuses, names
// a field that a later call changed, and appends no event.
func TestUndoOfAnyCall(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	rapid.Check(t, func(rt *rapid.T) {
		hash := "h" + uuid.NewString()[:12]
		made := s.create(
			t, request("a"), CreateURL{LongURL: "https://example.com/", CustomHash: hash, Tags: []string{"a"}},
		)
		var batches []string
		states := []map[string]any{undo.FieldsOf(made)}
		for range rapid.IntRange(1, 6).Draw(rt, "calls") {
			r := ownBatch("a")
			var edit EditURL
			value := strconv.Itoa(rapid.IntRange(0, 2).Draw(rt, "value"))
			switch rapid.IntRange(0, 3).Draw(rt, "field") {
			case 0:
				edit.Note = &value
			case 1:
				edit.LongURL, edit.Ping = new("https://example.com/"+value), new(value == "0")
			case 2:
				edit.Tags = []string{rapid.SampledFrom([]string{"+a", "-a", "+b"}).Draw(rt, "tag")}
			case 3:
				edit.MaxClicks, edit.Note = new(int64(len(value))), &value
			}
			url, err := s.edit(t, r, hash, edit)
			if err != nil {
				rt.Fatal(err)
			}
			batches, states = append(batches, r.Batch), append(states, undo.FieldsOf(url))
		}
		n := rapid.IntRange(0, len(batches)-1).Draw(rt, "undone")
		before, after, now := states[n], states[n+1], states[len(states)-1]
		since := func(field string) bool {
			for i := n + 1; i+1 < len(states); i++ {
				if states[i][field] != states[i+1][field] {
					return true
				}
			}
			return false
		}
		want, conflicts := make(map[string]any), false
		for field, value := range now {
			want[field] = value
		}
		for _, field := range fieldNames(before, after) {
			if before[field] == after[field] || now[field] == before[field] {
				continue
			}
			conflicts = conflicts || since(field)
			if want[field] = before[field]; before[field] == nil {
				delete(want, field)
			}
		}
		if conflicts {
			want = now
		}
		err := s.undo(t, batches[n], made.ID).Err
		if conflicts != (domain.KindOf(err) == domain.URLChanged) || err != nil && !conflicts {
			rt.Fatalf("undone with %v, conflicts: %v", err, conflicts)
		}
		if url, _ := s.mustLoad(t, made.ID); !reflect.DeepEqual(undo.FieldsOf(url), want) {
			rt.Fatalf("the link is\n%v, want\n%v", undo.FieldsOf(url), want)
		}
	})
}

func fieldNames(states ...map[string]any) []string {
	var names []string
	for _, state := range states {
		for name := range state {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
