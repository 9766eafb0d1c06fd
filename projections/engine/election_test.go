package engine_test

import (
	"testing"
	"time"

	"linkledger/events/eventstore/eventstoretest"
	"linkledger/projections"
	"linkledger/projections/engine"
	"linkledger/projections/engine/status"
	"linkledger/projections/projectionstest"
)

// TestHandOver stops the owner and checks that the standby process continues immediately, long
// before the lease would have expired.
func TestHandOver(t *testing.T) {
	t.Parallel()
	db, store := projectionstest.Open(t), eventstoretest.New(t)
	w := projectionstest.NewWriter(t, store)
	account := w.Account()
	first, second := projectionstest.NewProgress(), projectionstest.NewProgress()
	former, board := &status.Registry{}, &status.Registry{}
	stop := projectionstest.Run(
		t,
		engine.Config{
			DB: db, Store: store, OnCommit: first.Advance, Owner: "first", Lease: time.Hour, Registry: former,
		},
	)
	projectionstest.AwaitStatus(t, former, func(s status.Status) bool { return s.Owned }) // otherwise the second takes the others
	_, at := w.Link(account, "a")
	first.Wait(t, at, projections.Links)
	projectionstest.Run(
		t,
		engine.Config{
			DB: db, Store: store, OnCommit: second.Advance, Owner: "second", Lease: time.Hour, Registry: board,
		},
	)
	projectionstest.AwaitStatus(t, board, func(s status.Status) bool { return !s.Owned && s.Serving && s.Err == nil })
	stop()
	_, at = w.Link(account, "b")
	second.Wait(t, at, projections.Links, projections.Tree, projections.History)
	if n := projectionstest.Count(
		t, db, "SELECT count(*) FROM linkledger.generations WHERE owner = 'second' AND epoch = 2",
	); n != int64(len(projections.Names())) {
		t.Errorf("the second process owns %d projections", n)
	}
}

// TestIdleOwnerStaysOwner checks that the owner stays the same during several leases in which
// the log has no new events.
func TestIdleOwnerStaysOwner(t *testing.T) {
	t.Parallel()
	db, store := projectionstest.Open(t), eventstoretest.New(t)
	const lease = 3 * time.Second
	owned := &status.Registry{}
	projectionstest.Run(t, engine.Config{DB: db, Store: store, Owner: "first", Registry: owned, Lease: lease})
	projectionstest.AwaitStatus(t, owned, func(s status.Status) bool { return s.Owned })
	projectionstest.Run(t, engine.Config{DB: db, Store: store, Owner: "second", Lease: lease})
	select {
	case <-time.After(2 * lease):
	case <-t.Context().Done():
	}
	if n := projectionstest.Count(
		t, db, "SELECT count(*) FROM linkledger.generations WHERE owner = 'first' AND epoch = 1",
	); n != int64(len(projections.Names())) {
		t.Errorf("the first process owns %d projections", n)
	}
}

// TestKilledOwnerIsFollowedAtOnce releases the presence lock of an owner, as a kill does. It checks
// that another process takes over long before the lease expires.
func TestKilledOwnerIsFollowedAtOnce(t *testing.T) {
	t.Parallel()
	db, store := projectionstest.Open(t), eventstoretest.New(t)
	w, progress, board := projectionstest.NewWriter(t, store), projectionstest.NewProgress(), &status.Registry{}
	kill := projectionstest.Present(t, db, "killed")
	ctx := projectionstest.Context(t)
	if _, err := db.NewRaw(`UPDATE linkledger.generations
		SET owner = 'killed', epoch = 7, lease_until = clock_timestamp() + interval '1h'`).Exec(ctx); err != nil {
		t.Fatal(err)
	}
	projectionstest.Run(t, engine.Config{DB: db, Store: store, OnCommit: progress.Advance, Owner: "next", Registry: board})
	projectionstest.AwaitStatus(t, board, func(s status.Status) bool { return !s.Owned && s.Serving })
	if n := projectionstest.Count(t, db, "SELECT count(*) FROM linkledger.generations WHERE owner <> 'killed'"); n != 0 {
		t.Fatalf("%d generations were taken from an owner that is present", n)
	}
	overviews, err := status.Overviews(ctx, projections.All(), db, store)
	if err != nil || overviews[0].State == status.Unowned {
		t.Errorf("while the owner is present: %+v, %v", overviews, err)
	}

	kill()
	_, at := w.Link(w.Account(), "a")
	progress.Wait(t, at, projections.Links, projections.Tree)
	projectionstest.AwaitStatus(t, board, func(s status.Status) bool { return s.Owned })
	if n := projectionstest.Count(
		t, db, "SELECT count(*) FROM linkledger.generations WHERE owner = 'next' AND epoch = 8",
	); n != int64(len(projections.Names())) {
		t.Errorf("the next owner owns %d projections", n)
	}
}

// TestTakeOver checks that a process takes over from an owner that does not renew its lease, like a
// suspended one, and that it does so again after it lost an election.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	db, store := projectionstest.Open(t), eventstoretest.New(t)
	w, progress := projectionstest.NewWriter(t, store), projectionstest.NewProgress()
	projectionstest.Present(t, db, "suspended")
	if _, err := db.NewRaw(`UPDATE linkledger.generations
		SET owner = 'suspended', epoch = 7, lease_until = clock_timestamp() + interval '2s'`).Exec(
		projectionstest.Context(t),
	); err != nil {
		t.Fatal(err)
	}
	projectionstest.Run(t, engine.Config{DB: db, Store: store, OnCommit: progress.Advance, Owner: "next", Lease: 2 * time.Second})
	_, at := w.Link(w.Account(), "a")
	progress.Wait(t, at, projections.Names()...)
	// Another process wins the next election without the owner's knowledge. The owner must notice,
	// and stand for election again.
	if _, err := db.NewRaw(`UPDATE linkledger.generations
		SET owner = 'usurper', epoch = epoch + 1, lease_until = clock_timestamp() + interval '1s'`).Exec(
		projectionstest.Context(t),
	); err != nil {
		t.Fatal(err)
	}
	_, at = w.Link(w.Account(), "b")
	progress.Wait(t, at, projections.Names()...)
	if n := projectionstest.Count(t, db, "SELECT min(epoch) FROM linkledger.generations WHERE owner = 'next'"); n != 10 {
		t.Errorf("the next owner is the owner again in epoch %d, want 10", n)
	}
}
