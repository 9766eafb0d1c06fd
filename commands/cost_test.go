package commands

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"linkledger/commands/audit"
	"linkledger/commands/commandstest"
	"linkledger/commands/linkwrite"
	"linkledger/commands/restoring"
	"linkledger/events"
)

// countingContext is a context that counts calls of Err and ends at call endsAt.
type countingContext struct {
	context.Context //nolint:containedctx // it is a context

	cancel context.CancelFunc
	times  atomic.Int64
	endsAt int64 // 0: never
}

func newCountingContext(t *testing.T, endsAt int64) *countingContext {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return &countingContext{Context: ctx, cancel: cancel, endsAt: endsAt}
}

// Err implements context.Context.
func (a *countingContext) Err() error {
	if a.times.Add(1) == a.endsAt {
		a.cancel()
	}
	return a.Context.Err()
}

// TestLongReadsEndWithTheirContext checks that each operation that iterates over events checks its
// context for every event, and stops when the context ends at any of them.
func TestLongReadsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	id := taggedLink(t, s.store, 300, 100)
	const changes = 500
	edits := make([]events.Event, changes)
	for i := range edits {
		edits[i] = events.URLRetargeted{LongURL: "https://example.com/" + strconv.Itoa(i), At: commandstest.At}
	}
	commandstest.AppendAll(t, s.store, events.LinkStream(id), 0, edits...)
	for name, read := range map[string]struct {
		do     func(context.Context, *stack) error
		events int64 // at least
	}{
		"history": {events: 2*changes + 300, do: func(ctx context.Context, s *stack) error {
			_, err := s.History(ctx, audit.HistoryQuery{Hash: "one", Account: "a"})
			return err
		}},
		"page": {events: 3*changes + 300, do: func(ctx context.Context, s *stack) error {
			_, err := s.History(ctx, audit.HistoryQuery{Hash: "one", Account: "a", Offset: changes, Limit: 1})
			return err
		}},
		"at": {events: 2*changes + 300, do: func(ctx context.Context, s *stack) error {
			_, err := s.LinkAsOf(ctx, audit.AsOfQuery{Hash: "one", Account: "a", Time: time.Now().Add(time.Hour)})
			return err
		}},
		"undo": {events: 2 * changes, do: func(ctx context.Context, s *stack) error {
			return s.Undo(ctx, toUndo(request("a"), "of nothing"), []string{id})[0].Err
		}},
		"restore": {events: changes, do: func(ctx context.Context, s *stack) error {
			return s.RestoreURL(ctx, request("a"), restoring.RestoreURL{Hash: "one"}).Err
		}},
		"edit": {events: changes, do: func(ctx context.Context, s *stack) error {
			return s.EditURLs(
				ctx, request("a"), []EditURL{{Ref: linkwrite.Ref{Hash: "one"}, Tags: []string{"-tag 200"}}},
			).Items[0].Err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fresh := func() *stack { return s.again(nil) } // has read nothing yet
			whole := newCountingContext(t, 0)
			if err := read.do(whole, fresh()); err != nil {
				t.Fatal(err)
			}
			times := whole.times.Load()
			if times < read.events {
				t.Errorf("the context was checked %d times for %d events", times, read.events)
			}
			for _, endsAt := range []int64{times / 4, times / 2, times * 9 / 10} {
				ctx := newCountingContext(t, endsAt)
				if err := read.do(ctx, fresh()); !errors.Is(err, context.Canceled) {
					t.Errorf("ended at %d of %d: %v", endsAt, times, err)
				}
				const late = 100 // less than a whole loop
				if after := ctx.times.Load() - endsAt; after > late {
					t.Errorf("ended at %d of %d: it continued for %d events", endsAt, times, after)
				}
			}
		})
	}
}
