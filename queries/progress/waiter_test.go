package progress

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"linkledger/projections/readmodel"
	"linkledger/queries"
	"linkledger/queries/cache"
	"linkledger/queries/queriestest"
)

func mustWait(t *testing.T, f *Waiter, position uint64) {
	t.Helper()
	if err := f.Wait(queriestest.WithTimeout(t), "links", position); err != nil {
		t.Fatalf("wait for position %d: %v", position, err)
	}
}

func TestWaiterFollowsOtherProcesses(t *testing.T) {
	t.Parallel()
	db := queriestest.OpenDatabase(t)
	f := NewWaiter(db)
	queriestest.Commit(t, db, "links", 7, false)
	queriestest.Run(t, f.Run)
	mustWait(t, f, 7) // read when it connects
	for position := uint64(8); position < 30; position++ {
		queriestest.Commit(t, db, "links", position, true)
		mustWait(t, f, position)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Wait(ended, "tags", 1); !errors.Is(err, context.Canceled) {
		t.Errorf("tags did not advance, but the wait returned %v", err)
	}
	if err := f.Wait(ended, "links", 29); err != nil {
		t.Errorf("wait for a position that is already reached: %v", err)
	}
}

func TestWaiterReconnects(t *testing.T) {
	t.Parallel()
	db := queriestest.OpenDatabase(t)
	f := NewWaiter(db)
	f.fallback = time.Hour // so that only a new connection can help
	interrupted := make(chan error, 100)
	f.OnError = func(err error) { interrupted <- err }
	queriestest.Run(t, f.Run)
	for position := uint64(10); position < 60; position += 10 {
		queriestest.Commit(t, db, "links", position, true)
		mustWait(t, f, position)
		if _, err := db.NewRaw(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datname = current_database() AND query LIKE 'LISTEN%'`).Exec(
			queriestest.WithTimeout(t),
		); err != nil {
			t.Fatal(err)
		}
		<-interrupted
		queriestest.Commit(t, db, "links", position+1, true) // possibly while no connection listens
		mustWait(t, f, position+1)
	}
}

func TestWaiterFallsBackToReading(t *testing.T) {
	t.Parallel()
	db := queriestest.OpenDatabase(t)
	f := NewWaiter(db)
	f.fallback = 10 * time.Millisecond
	queriestest.Run(t, f.Run)
	queriestest.Commit(t, db, "links", 1, true)
	mustWait(t, f, 1)
	queriestest.Commit(t, db, "links", 5, false)
	mustWait(t, f, 5)
}

// TestWaiterLosesNoWakeUp makes many calls wait while several goroutines report positions out of
// order and other calls are cancelled. Every call must return.
func TestWaiterLosesNoWakeUp(t *testing.T) {
	t.Parallel()
	const last, waiting, sources = 2000, 400, 4
	f := NewWaiter(nil)
	ctx := queriestest.WithTimeout(t)
	givingUp, giveUp := context.WithCancel(ctx)
	var all sync.WaitGroup
	for i := range waiting {
		projection := []string{"links", "tags"}[i%2]
		all.Go(func() {
			for range 20 {
				if err := f.Wait(ctx, projection, rand.Uint64N(last+1)); err != nil {
					t.Error(err)
				}
			}
		})
		all.Go(func() {
			if err := f.Wait(givingUp, projection, last+1+rand.Uint64N(9)); !errors.Is(err, context.Canceled) {
				t.Errorf("wait for a position that is never reached: %v", err)
			}
		})
	}
	for range sources {
		all.Go(func() {
			for position := range uint64(last + 1) {
				if rand.IntN(sources) > 0 || position == last {
					f.advance("links", position)
					f.advance("tags", position)
				}
				if position == last/2 {
					giveUp()
				}
			}
		})
	}
	all.Wait()
	giveUp()
	if f.hasWaiters() {
		t.Error("cancelled waiters were not removed")
	}
	f.advance("links", 3)
	if err := f.Wait(givingUp, "links", last); err != nil {
		t.Errorf("a position that was reported late moved the progress back: %v", err)
	}
}

func BenchmarkWaiterWait(b *testing.B) {
	f := NewWaiter(nil)
	ctx, cancel := context.WithCancel(b.Context())
	var waiting sync.WaitGroup
	for i := range 10_000 { // that wait during the whole benchmark
		waiting.Go(func() { _ = f.Wait(ctx, "links", uint64(1<<40+i)) })
	}
	var position uint64
	b.ResetTimer()
	for b.Loop() {
		position++
		done := make(chan error, 1)
		go func() { done <- f.Wait(ctx, "links", position) }()
		f.advance("links", position)
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
	cancel()
	waiting.Wait()
}

// FuzzNotification checks that the handling of any notification either succeeds or returns an
// error.
func FuzzNotification(f *testing.F) {
	for _, seed := range []string{
		"links 5", "links " + readmodel.Changed + "one two", "links " + readmodel.Changed + readmodel.Everything,
		"links", "", " 1", "links -1",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, notification string) {
		redirects, err := cache.NewRedirects(queries.New(nil), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		waiter := NewWaiter(nil)
		waiter.Caches = []Cache{redirects}
		_ = waiter.handle(notification, make(map[string][]string))
	})
}

func TestWaitForOthers(t *testing.T) {
	t.Parallel()
	f := NewWaiter(queriestest.OpenDatabase(t))
	ctx := queriestest.WithTimeout(t)
	if err := f.WaitForOthers(ctx, "history", "links", "tags"); err != nil {
		t.Errorf("before any commit: %v", err)
	}
	f.Committed("links", 5, []string{"hash"})
	f.Committed("links", 9, nil) // clicks
	f.advance("links", 9)        // as read from the database
	f.Committed("tags", 7, []string{readmodel.Uncached})
	f.advance("history", 6)
	waited := make(chan error, 1)
	go func() { waited <- f.WaitForOthers(ctx, "history", "links", "tags") }()
	for !f.hasWaiters() {
		runtime.Gosched()
	}
	f.advance("history", 7)
	if err := <-waited; err != nil {
		t.Errorf("wait for the others: %v", err)
	}
}

// copies is a Cache that records which keys of links have changed.
type copies struct{ received []string }

func (c *copies) Changed(projection string, keys []string) {
	if projection == "links" {
		c.received = append(c.received, keys...)
	}
}
func (*copies) SetConnected(bool) {}
func (*copies) Missed()           {}

// TestCachesForgetOnce checks that the caches receive a change once if a projector of this process
// and PostgreSQL report it, in either order.
func TestCachesForgetOnce(t *testing.T) {
	t.Parallel()
	notify := func(w *Waiter, notifications ...string) {
		t.Helper()
		changed := make(map[string][]string)
		for _, notification := range notifications {
			if err := w.handle(notification, changed); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, report := range map[string][2]func(*Waiter){
		"the projector first": {
			func(w *Waiter) { w.Committed("links", 5, []string{"b", "a"}) },
			func(w *Waiter) { notify(w, "links changed b", "accounts 7", "links changed a", "links 5") },
		},
		"PostgreSQL first": {
			func(w *Waiter) { notify(w, "links changed b", "links changed a", "links 5") },
			func(w *Waiter) { w.Committed("links", 5, []string{"b", "a"}) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cache, w := &copies{}, NewWaiter(nil)
			w.Caches = []Cache{cache}
			wantReceived := func(want ...string) {
				t.Helper()
				if !slices.Equal(cache.received, want) {
					t.Errorf("the cache received %v, want %v", cache.received, want)
				}
				cache.received = nil
			}
			report[0](w)
			wantReceived("b", "a")
			report[1](w)
			wantReceived()
			notify(w, "links changed a", "links 6") // another process has committed
			wantReceived("a")
			w.Committed("links", 6, []string{readmodel.Everything}) // another generation serves
			wantReceived(readmodel.Everything)
		})
	}
}
