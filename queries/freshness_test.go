package queries

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"linkledger/projections/readmodel"
)

// follow runs a Freshness until the end of the test.
func follow(t *testing.T, f *Freshness) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
}

// commit moves a checkpoint as a projector of another process does.
func commit(t *testing.T, db *readmodel.DB, projection string, position uint64, notify bool) {
	t.Helper()
	statement := "UPDATE linkledger.generations SET commit_pos = ?0 WHERE name = ?1"
	if notify {
		statement += "; SELECT pg_notify(?2, ?3)"
	}
	if _, err := db.NewRaw(statement, position, projection, readmodel.Channel, fmt.Sprint(projection, " ", position)).
		Exec(withPatience(t)); err != nil {
		t.Fatal(err)
	}
}

func mustWait(t *testing.T, f *Freshness, projection string, position uint64) {
	t.Helper()
	if err := f.Wait(withPatience(t), projection, position); err != nil {
		t.Fatalf("wait for %s at %d: %v", projection, position, err)
	}
}

func TestFreshnessHearsOtherProcesses(t *testing.T) {
	t.Parallel()
	db := openDatabase(t)
	f := NewFreshness(db)
	commit(t, db, "links", 7, false)
	follow(t, f)
	mustWait(t, f, "links", 7) // read at the connection
	for position := uint64(8); position < 30; position++ {
		commit(t, db, "links", position, true)
		mustWait(t, f, "links", position)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Wait(ended, "tags", 1); !errors.Is(err, context.Canceled) {
		t.Errorf("tags did not move, but the wait returned %v", err)
	}
	if err := f.Wait(ended, "links", 29); err != nil {
		t.Errorf("what is reached needs no waiting, but: %v", err)
	}
}

func TestFreshnessReconnects(t *testing.T) {
	t.Parallel()
	db := openDatabase(t)
	f := NewFreshness(db)
	f.fallback = time.Hour // only the new connection can help
	interrupted := make(chan error, 100)
	f.OnError = func(err error) { interrupted <- err }
	follow(t, f)
	for position := uint64(10); position < 60; position += 10 {
		commit(t, db, "links", position, true)
		mustWait(t, f, "links", position)
		if _, err := db.NewRaw(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datname = current_database() AND query LIKE 'LISTEN%'`).Exec(withPatience(t)); err != nil {
			t.Fatal(err)
		}
		<-interrupted
		commit(t, db, "links", position+1, true) // nobody listens, perhaps
		mustWait(t, f, "links", position+1)
	}
}

func TestFreshnessFallsBackToReading(t *testing.T) {
	t.Parallel()
	db := openDatabase(t)
	f := NewFreshness(db)
	f.fallback = 10 * time.Millisecond
	follow(t, f)
	commit(t, db, "links", 1, true)
	mustWait(t, f, "links", 1)
	commit(t, db, "links", 5, false)
	mustWait(t, f, "links", 5)
}

// TestFreshnessLosesNoWakeUp has many wait while positions arrive out of order from several sides, and others give up.
func TestFreshnessLosesNoWakeUp(t *testing.T) {
	t.Parallel()
	const last, waiting, sources = 2000, 400, 4
	f := NewFreshness(nil)
	ctx := withPatience(t)
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
				t.Errorf("waiting for what never comes ended with %v", err)
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
	if f.awaited() {
		t.Error("those who gave up are still listed")
	}
	f.advance("links", 3)
	if err := f.Wait(givingUp, "links", last); err != nil {
		t.Errorf("a position that comes late took progress back: %v", err)
	}
}

func BenchmarkFreshnessWait(b *testing.B) {
	f := NewFreshness(nil)
	ctx, cancel := context.WithCancel(b.Context())
	var waiting sync.WaitGroup
	for i := range 10_000 { // who wait for long
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

// A notification is a position, or keys, or an error, whoever may have sent it.
func FuzzNotification(f *testing.F) {
	for _, seed := range []string{"links 5", "links " + readmodel.Changed + "one two", "links " + readmodel.Changed + readmodel.Everything, "links", "", " 1", "links -1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, notification string) {
		var err error
		fresh := NewFreshness(nil)
		if fresh.Targets, err = NewTargets(New(nil), 1<<20); err != nil {
			t.Fatal(err)
		}
		_ = fresh.hear(notification, make(map[string][]string))
	})
}

func TestOvertake(t *testing.T) {
	t.Parallel()
	f := NewFreshness(openDatabase(t))
	ctx := withPatience(t)
	if err := f.Overtake(ctx, "history", "links", "tags"); err != nil {
		t.Errorf("nothing is known: %v", err)
	}
	f.Committed("links", 5, []string{"hash"})
	f.Committed("links", 9, nil) // clicks
	f.advance("links", 9)        // as the database has it
	f.Committed("tags", 7, []string{readmodel.Unkept})
	f.advance("history", 6)
	overtaken := make(chan error, 1)
	go func() { overtaken <- f.Overtake(ctx, "history", "links", "tags") }()
	for !f.awaited() {
		runtime.Gosched()
	}
	f.advance("history", 7)
	if err := <-overtaken; err != nil {
		t.Errorf("overtaken: %v", err)
	}
}
