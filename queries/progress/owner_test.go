package progress

import (
	"context"
	"errors"
	"testing"
	"time"

	"linkledger/projections/readmodel"
	"linkledger/queries/queriestest"
)

// makeOwner makes a process the owner of a projection for an hour. The process holds its presence
// lock until leave is called.
func makeOwner(t *testing.T, db *readmodel.DB, projection, process string) (leave func()) {
	t.Helper()
	ctx := queriestest.WithTimeout(t)
	left, err := db.Present(ctx, process)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.NewRaw(`UPDATE linkledger.generations SET owner = ?, lease_until = clock_timestamp() + interval '1h'
		WHERE name = ?`, process, projection).Exec(ctx); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := left(); err != nil {
			t.Error(err)
		}
	}
}

func TestWaitsFailWithoutOwner(t *testing.T) {
	t.Parallel()
	db := queriestest.OpenDatabase(t)
	f := NewWaiter(db)
	reports := make(chan bool, 10)
	f.OnUnowned = func(projection string, unowned bool) {
		if projection == "links" {
			reports <- unowned
		}
	}
	kill := makeOwner(t, db, "links", "first")
	queriestest.Run(t, f.Run)
	ctx := queriestest.WithTimeout(t)

	waited := make(chan error, 2)
	go func() { waited <- f.WaitOwned(ctx, "links", 10) }()
	queriestest.Commit(t, db, "links", 10, true)
	if err := <-waited; err != nil {
		t.Fatalf("while the owner is present: %v", err)
	}

	go func() { waited <- f.WaitOwned(ctx, "links", 20) }()
	go func() { waited <- f.WaitUndelayed(ctx, "links", 20) }()
	kill()
	for range 2 {
		if err := <-waited; !errors.Is(err, ErrUnowned) {
			t.Errorf("after the owner was killed: %v", err)
		}
	}
	if unowned := <-reports; !unowned {
		t.Error("the projection was not reported as unowned")
	}
	if err := f.WaitOwned(ctx, "links", 30); !errors.Is(err, ErrUnowned) {
		t.Errorf("a wait after that: %v", err)
	}

	defer makeOwner(t, db, "links", "second")()
	if unowned := <-reports; unowned {
		t.Error("the new owner was not reported")
	}
	go func() { waited <- f.WaitOwned(ctx, "links", 30) }()
	queriestest.Commit(t, db, "links", 30, true)
	if err := <-waited; err != nil {
		t.Errorf("with a new owner: %v", err)
	}
}

func TestOwnerIsGivenTime(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)
	var o ownership
	for _, step := range []struct {
		after   time.Duration
		vacant  bool
		unowned bool
	}{
		{0, true, false},
		{ownerTimeout - 1, true, false},
		{ownerTimeout - 1, false, false},
		{ownerTimeout, true, false},
		{2 * ownerTimeout, true, true},
		{3 * ownerTimeout, true, true},
		{3 * ownerTimeout, false, false},
		{4 * ownerTimeout, true, false},
	} {
		before := o.unowned
		if changed := o.observe(step.vacant, start.Add(step.after)); changed != (before != step.unowned) ||
			o.unowned != step.unowned {
			t.Errorf("%+v: unowned %t, changed %t", step, o.unowned, changed)
		}
	}
}

func TestWaitOwnedEndsWithItsContext(t *testing.T) {
	t.Parallel()
	f := NewWaiter(nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.WaitOwned(ctx, "links", 1); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if f.hasWaiters() {
		t.Error("the waiter was not removed")
	}
}
