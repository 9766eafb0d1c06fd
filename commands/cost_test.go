package commands

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/commands/commandstest"
	"linkledger/events"
	"linkledger/events/eventstore"
)

// asked is a context that counts how often it is asked whether it has ended, and ends at one of these times.
type asked struct {
	context.Context

	cancel context.CancelFunc
	times  atomic.Int64
	endsAt int64 // 0: never
}

func newAsked(t *testing.T, endsAt int64) *asked {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return &asked{Context: ctx, cancel: cancel, endsAt: endsAt}
}

// Err implements context.Context.
func (a *asked) Err() error {
	if a.times.Add(1) == a.endsAt {
		a.cancel()
	}
	return a.Context.Err()
}

// What walks through events looks at its context for each of them, and does no more when the context has ended, wherever
// that happens.
func TestLongReadsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	id := taggedLink(t, s.Handler, 300, 100)
	const changes = 500
	edits := make([]events.Event, changes)
	for i := range edits {
		edits[i] = events.URLRetargeted{LongURL: "https://example.com/" + strconv.Itoa(i), At: commandstest.At}
	}
	appendAll(t, s.Handler, events.StreamURL+id, 0, edits...)
	for name, read := range map[string]struct {
		do     func(context.Context, *Handler) error
		events int64 // at least
	}{
		"history": {events: 2*changes + 300, do: func(ctx context.Context, h *Handler) error {
			_, err := h.History(ctx, HistoryOf{Hash: "one", Account: "a"})
			return err
		}},
		"page": {events: 3*changes + 300, do: func(ctx context.Context, h *Handler) error {
			_, err := h.History(ctx, HistoryOf{Hash: "one", Account: "a", Offset: changes, Limit: 1})
			return err
		}},
		"at": {events: 2*changes + 300, do: func(ctx context.Context, h *Handler) error {
			_, err := h.URLAt(ctx, AtQuery{Hash: "one", Account: "a", Time: time.Now().Add(time.Hour)})
			return err
		}},
		"undo": {events: 2 * changes, do: func(ctx context.Context, h *Handler) error {
			return h.UndoBatch(ctx, request("a"), "of nothing", []string{id})[0].Err
		}},
		"restore": {events: changes, do: func(ctx context.Context, h *Handler) error {
			return h.RestoreURL(ctx, request("a"), RestoreURL{Hash: "one"}).Err
		}},
		"edit": {events: changes, do: func(ctx context.Context, h *Handler) error {
			return h.EditURLs(ctx, request("a"), []EditURL{{Ref: Ref{Hash: "one"}, Tags: []string{"-tag 200"}}}).Items[0].Err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fresh := func() *Handler { return NewHandler(Config{Store: s.store}) } // which has read nothing yet
			whole := newAsked(t, 0)
			if err := read.do(whole, fresh()); err != nil {
				t.Fatal(err)
			}
			times := whole.times.Load()
			if times < read.events {
				t.Errorf("the context was asked %d times for %d events", times, read.events)
			}
			for _, endsAt := range []int64{times / 4, times / 2, times * 9 / 10} {
				ctx := newAsked(t, endsAt)
				if err := read.do(ctx, fresh()); !errors.Is(err, context.Canceled) {
					t.Errorf("ended at %d of %d: %v", endsAt, times, err)
				}
				const late = 100 // not a whole loop
				if after := ctx.times.Load() - endsAt; after > late {
					t.Errorf("ended at %d of %d: %d events later it went on", endsAt, times, after)
				}
			}
		})
	}
}

// storedAs makes what a store would hand out of events.
func storedAs(stream string, all []events.Event, at func(int) uint64) []stored {
	recorded := make([]stored, len(all))
	for i, e := range all {
		recorded[i] = stored{eventstore.Recorded{
			Stream: stream, Revision: eventstore.Revision(i), Position: eventstore.Position{Commit: at(i)}, Type: e.EventType(),
		}, e}
	}
	return recorded
}

// An event of a history costs the same whether the link has few tags or many, and none is told without being asked for.
func TestHistoryCostsTheSameWithManyTags(t *testing.T) {
	t.Parallel()
	const changes = 2_000
	perEvent := func(tags int) time.Duration {
		var all []events.Event
		ids := make([]string, tags)
		for i := range ids {
			ids[i] = uuid.NewString()
			all = append(all, events.TagCreated{TagID: ids[i], Label: "tag " + strconv.Itoa(i)})
		}
		all = append(all, events.URLCreated{URLID: "id", Account: "a", Hash: "one", Tags: ids})
		for i := range changes {
			all = append(all, events.URLRetargeted{LongURL: strconv.Itoa(i)},
				events.TagRenamed{TagID: ids[i%tags], Label: "tag " + strconv.Itoa(i) + " again"})
		}
		history := storedAs(events.StreamURL+"id", all, func(i int) uint64 { return uint64(i) })
		fastest := time.Hour
		for range 5 {
			began := time.Now()
			_, places, entries, err := linkEntries(t.Context(), "id", history, "a", func(entryPlace) bool { return false })
			if err != nil || len(places) != len(all) || len(entries) != 0 {
				t.Fatalf("%d places, %d entries, %v", len(places), len(entries), err)
			}
			if _, err := momentOf(t.Context(), history, time.Now()); err != nil {
				t.Fatal(err)
			}
			fastest = min(fastest, time.Since(began)/time.Duration(len(all)))
		}
		return fastest
	}
	few, many := perEvent(100), perEvent(4_000)
	t.Logf("an event takes %s with 100 tags and %s with 4,000", few, many)
	if many > 20*few { // two scans of the tags took a thousand times as long
		t.Errorf("an event takes %s with 100 tags and %s with 4,000", few, many)
	}
}
