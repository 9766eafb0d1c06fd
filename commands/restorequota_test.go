package commands

import (
	"errors"
	"slices"
	"testing"
	"time"

	"linkledger/commands/commandstest"
	"linkledger/commands/domain"
	"linkledger/events"
	"linkledger/events/eventstore"
)

// Restorations and creations on two nodes compete for the room of deleted links: all of it is used, and not more. What
// was refused can be restored when there is room again, however many links the month had.
func TestRestoredLinksTakeRoom(t *testing.T) {
	t.Parallel()
	l := newLimitedNodes(t, 2)
	plan := domain.Plan{URLs: 10}
	batch := ownBatch("a")
	var hashes []string
	for _, item := range l.nodes[0].CreateURLs(t.Context(), limited(plan), batchOf(10)).Items {
		hashes = append(hashes, item.URL.Hash)
	}
	var deleted []string
	for _, outcome := range l.nodes[0].DeleteURLs(t.Context(), batch, ByHash(hashes[:6]...)) {
		deleted = append(deleted, outcome.URL.ID)
	}
	commandstest.Together(8, func(i int) {
		node := l.nodes[i%2]
		var err error
		switch {
		case i < 4:
			err = node.CreateURLs(t.Context(), limited(plan), batchOf(1)).Items[0].Err
		default:
			err = node.RestoreURL(t.Context(), limited(plan), RestoreURL{Hash: hashes[i-4]}).Err
		}
		if err != nil && domain.KindOf(err) != domain.URLLimitReached {
			t.Error(err)
		}
	})
	refused := 0
	for _, outcome := range l.nodes[1].UndoBatch(t.Context(), limited(plan), batch.Batch, deleted) {
		if domain.KindOf(outcome.Err) == domain.URLLimitReached {
			refused++
		} else if outcome.Err != nil {
			t.Error(outcome.Err)
		}
	}
	if got := l.live(t); got != 10 || refused != 4 {
		t.Fatalf("%d links, and %d of 6 were not restored", got, refused)
	}
	for _, outcome := range l.nodes[0].DeleteURLs(t.Context(), limited(plan), ByHash(hashes[6:]...)) {
		if outcome.Err != nil {
			t.Fatal(outcome.Err)
		}
	}
	plan.MonthURLs = 1
	for _, outcome := range l.nodes[1].UndoBatch(t.Context(), limited(plan), batch.Batch, deleted) {
		if outcome.Err != nil {
			t.Error(outcome.Err)
		}
	}
	if got := l.live(t); got != 10 {
		t.Errorf("%d links, want 10", got)
	}
}

// The room for a restoration on a node that was killed comes back after a minute, and then the restoration can't come.
func TestRoomOfALateRestoration(t *testing.T) {
	t.Parallel()
	l := newLimitedNodes(t, 2)
	plan := domain.Plan{URLs: 1}
	old := l.nodes[0].CreateURLs(t.Context(), limited(plan), batchOf(1)).Items[0].URL
	if err := l.nodes[0].DeleteURLs(t.Context(), limited(plan), ByHash(old.Hash))[0].Err; err != nil {
		t.Fatal(err)
	}
	killed := l.nodes[0].cfg.Quotas
	room, err := killed.wait(t.Context(), killed.ask("a", plan, old.ID, true))
	if err != nil {
		t.Fatal(err)
	}
	create := func() domain.Kind {
		return domain.KindOf(l.nodes[1].CreateURLs(t.Context(), limited(plan), batchOf(1)).Items[0].Err)
	}
	if got := create(); got != domain.URLLimitReached {
		t.Errorf("beside a restoration under way: %v", got)
	}
	l.pass(2 * claimTimeout)
	if got := create(); got != 0 {
		t.Errorf("a minute later: %v", got)
	}
	_, err = l.store.Append(t.Context(), eventstore.Write{
		Stream: events.StreamURL + old.ID, Expected: 1, Command: request("").Command,
		Events: []events.Event{events.URLRestored{Account: "a", Hash: old.Hash, At: room}},
	})
	if !errors.Is(err, eventstore.ErrWrongRevision) {
		t.Errorf("the late restoration came after all: %v", err)
	}
}

func TestFateOfARestoration(t *testing.T) {
	t.Parallel()
	p := events.PendingLink{URLID: "u", At: commandstest.At.Add(time.Hour), Restored: true}
	gone := slices.Clip([]events.Event{commandstest.Created(), events.URLDeleted{At: commandstest.At}})
	mine, other := events.URLRestored{Hash: "h", At: p.At}, events.URLRestored{Hash: "h", At: commandstest.At.Add(time.Minute)}
	for name, tc := range map[string]struct {
		history []events.Event
		want    fate
	}{
		"under way":               {gone, fateOpen},
		"came":                    {append(gone, mine), fateCame},
		"came and went":           {append(gone, mine, events.URLDeleted{At: commandstest.At}), fateCame},
		"another one came":        {append(gone, other), fateNever},
		"another one was deleted": {append(gone, other, events.URLDeleted{At: commandstest.At}), fateOpen},
	} {
		if got := fateOf(p, tc.history); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
