package commands

import (
	"errors"
	"testing"

	"linkledger/commands/commandstest"
	"linkledger/commands/domain"
	"linkledger/commands/hashes"
	"linkledger/commands/linkwrite"
	"linkledger/commands/restoring"
	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/internal/soak"
)

// TestRestoredLinksNeedReservations checks that restorations and creations on two nodes use exactly
// the reservations that deleted links released. A refused link can be restored once other links are
// deleted, regardless of how many links were created in the month.
func TestRestoredLinksNeedReservations(t *testing.T) {
	t.Parallel()
	l := newLimitedNodes(t, 2)
	plan := domain.Plan{URLs: 10}
	batch := ownBatch("a")
	var hashes []string
	for _, item := range l.nodes[0].CreateURLs(t.Context(), limited(plan), batchOf(10)).Items {
		hashes = append(hashes, item.URL.Hash)
	}
	var deleted []string
	for _, outcome := range l.nodes[0].DeleteURLs(t.Context(), batch, linkwrite.ByHash(hashes[:6]...)) {
		deleted = append(deleted, outcome.URL.ID)
	}
	commandstest.Together(8, func(i int) {
		node := l.nodes[i%2]
		var err error
		switch {
		case i < 4:
			err = node.CreateURLs(t.Context(), limited(plan), batchOf(1)).Items[0].Err
		default:
			err = node.RestoreURL(t.Context(), limited(plan), restoring.RestoreURL{Hash: hashes[i-4]}).Err
		}
		if err != nil && domain.KindOf(err) != domain.URLLimitReached {
			t.Error(err)
		}
	})
	refused := 0
	for _, outcome := range l.nodes[1].Undo(t.Context(), toUndo(limited(plan), batch.Batch), deleted) {
		if domain.KindOf(outcome.Err) == domain.URLLimitReached {
			refused++
		} else if outcome.Err != nil {
			t.Error(outcome.Err)
		}
	}
	if got := l.live(t); got != 10 || refused != 4 {
		t.Fatalf("%d links, and %d of 6 were not restored", got, refused)
	}
	for _, outcome := range l.nodes[0].DeleteURLs(t.Context(), limited(plan), linkwrite.ByHash(hashes[6:]...)) {
		if outcome.Err != nil {
			t.Fatal(outcome.Err)
		}
	}
	plan.MonthURLs = 1
	for _, outcome := range l.nodes[1].Undo(t.Context(), toUndo(limited(plan), batch.Batch), deleted) {
		if outcome.Err != nil {
			t.Error(outcome.Err)
		}
	}
	if got := l.live(t); got != 10 {
		t.Errorf("%d links, want 10", got)
	}
}

// TestReservationOfALateRestoration checks that the reservation of a restoration on a killed node
// is returned after a minute, and that the restoration then fails.
func TestReservationOfALateRestoration(t *testing.T) {
	soak.NotShort(t)
	t.Parallel()
	l := newLimitedNodes(t, 2)
	plan := domain.Plan{URLs: 1}
	old := l.nodes[0].CreateURLs(t.Context(), limited(plan), batchOf(1)).Items[0].URL
	if err := l.nodes[0].DeleteURLs(t.Context(), limited(plan), linkwrite.ByHash(old.Hash))[0].Err; err != nil {
		t.Fatal(err)
	}
	killed := l.nodes[0].cfg.Quotas
	at, err := killed.ReserveToRestore(limited(plan)).Take(t.Context(), old.ID, commandstest.At)
	if err != nil {
		t.Fatal(err)
	}
	create := func() domain.Kind {
		return domain.KindOf(l.nodes[1].CreateURLs(t.Context(), limited(plan), batchOf(1)).Items[0].Err)
	}
	if got := create(); got != domain.URLLimitReached {
		t.Errorf("during a pending restoration: %v", got)
	}
	l.pass(2 * hashes.ClaimTimeout)
	if got := create(); got != 0 {
		t.Errorf("a minute later: %v", got)
	}
	_, err = l.store.Append(t.Context(), eventstore.Write{
		Stream: events.LinkStream(old.ID), Expected: 1, Command: request("").Command,
		Events: []events.Event{events.URLRestored{Account: "a", Hash: old.Hash, At: at}},
	})
	if !errors.Is(err, eventstore.ErrWrongRevision) {
		t.Errorf("the late restoration was appended: %v", err)
	}
}
