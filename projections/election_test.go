package projections

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/projections/engine"
	"linkledger/projections/engine/generation"
	"linkledger/projections/engine/projector"
	"linkledger/projections/engine/status"
	"linkledger/projections/readmodel"
)

// elect elects owner for the workshop's generation. It succeeds immediately if the generation has
// no owner.
func (w *workshop) elect(
	ctx context.Context, t fatalf, owner string, lose func(),
) (*projector.Projector, generation.Checkpoint) {
	t.Helper()
	found, err := generation.Candidates(ctx, w.db)
	if err != nil {
		t.Fatalf("candidates: %v", err)
	}
	for _, c := range found {
		if c.Name != w.projection.Name || c.Generation.Generation != w.generation {
			continue
		}
		at, elected, err := generation.Acquire(ctx, w.db, c.Generation, owner, generation.DefaultLease)
		if err != nil || !elected {
			t.Fatalf("%s was not elected: %v", owner, err)
		}
		return w.projectorWith(ctx, t, func(cfg *projector.Config) { cfg.At, cfg.Lose = at, lose }), at
	}
	t.Fatalf("no generation %d", w.generation)
	return nil, generation.Checkpoint{}
}

// present holds the presence lock of a process until the test ends or leave is called.
func present(t testing.TB, db *readmodel.DB, process string) (leave func()) {
	t.Helper()
	left, err := db.Present(withTimeout(t), process)
	if err != nil {
		t.Fatal(err)
	}
	leave = sync.OnceFunc(func() {
		if err := left(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(leave)
	return leave
}

// expire ends the lease of the generation.
func (w *workshop) expire(ctx context.Context, t fatalf) {
	t.Helper()
	if _, err := w.db.NewRaw("UPDATE linkledger.generations SET lease_until = clock_timestamp() - interval '1s' WHERE "+
		"name = ?",
		w.projection.Name).Exec(ctx); err != nil {
		t.Fatalf("expire: %v", err)
	}
}

// TestOwnerOfThePastIsRefused checks that an owner that resumes after another one was elected is
// refused, and that none of its writes takes effect.
func TestOwnerOfThePastIsRefused(t *testing.T) {
	t.Parallel()
	ctx := withTimeout(t)
	w := newWorkshop(t, Links)
	present(t, w.db, "previous")
	h := record(
		nil, events.StreamURL+uuid.New().String(), 0, events.ClaimAbandoned{At: noon}, events.ClaimAbandoned{At: noon},
	)
	ended := make(chan struct{})
	previous, past := w.elect(ctx, t, "previous", sync.OnceFunc(func() { close(ended) }))
	mustHandle(ctx, t, previous, h[:1])
	w.expire(ctx, t)
	next, now := w.elect(ctx, t, "next", func() {})
	if now.Position != h[0].Position || now.Epoch != past.Epoch+1 {
		t.Errorf("the next owner starts at %+v after %+v", now, past)
	}

	if err := previous.Apply(ctx, batchOf(h[1:])); !errors.Is(err, generation.ErrFenced) {
		t.Errorf("a batch of the previous owner: %v", err)
	}
	if err := past.Renew(
		ctx, w.db, generation.DefaultLease, generation.Report{},
	); !errors.Is(err, generation.ErrFenced) {
		t.Errorf("a renewal by the previous owner: %v", err)
	}
	if err := past.Release(ctx, w.db); !errors.Is(err, generation.ErrFenced) {
		t.Errorf("a release by the previous owner: %v", err)
	}
	if _, err := previous.Checkpoint(ctx); !errors.Is(err, generation.ErrFenced) {
		t.Errorf("a checkpoint of the previous owner: %v", err)
	}
	<-ended
	mustHandle(ctx, t, next, h[1:])
	if err := now.Release(ctx, w.db); err != nil {
		t.Error(err)
	}
}

// TestOneIsElected checks that one process is elected if many stand for election concurrently.
func TestOneIsElected(t *testing.T) {
	t.Parallel()
	ctx := withTimeout(t)
	w := newWorkshop(t, Tags)
	found, err := generation.Candidates(ctx, w.db)
	if err != nil {
		t.Fatal(err)
	}
	var owners []string
	for i := range 6 {
		owners = append(owners, strconv.Itoa(i))
		present(t, w.db, owners[i])
	}
	for round := range 20 {
		var elected, failed []error
		var mu sync.Mutex
		var processes sync.WaitGroup
		for i := range owners {
			processes.Go(func() {
				_, won, err := generation.Acquire(ctx, w.db, found[0].Generation, owners[i], generation.DefaultLease)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					failed = append(failed, err)
				}
				if won {
					elected = append(elected, nil)
				}
			})
		}
		processes.Wait()
		if len(elected) != 1 || len(failed) > 0 {
			t.Fatalf("round %d: %d processes were elected, errors %v", round, len(elected), failed)
		}
		if _, err := w.db.NewRaw("UPDATE linkledger.generations SET lease_until = 'epoch'").Exec(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHandOver stops the owner and checks that the standby process continues immediately, long
// before the lease would have expired.
func TestHandOver(t *testing.T) {
	t.Parallel()
	db, store := openDatabase(t), eventstoretest.New(t)
	w := newWriter(t, store)
	account := w.account()
	first, second := newProgressLog(), newProgressLog()
	former, board := &status.Registry{}, &status.Registry{}
	stop := run(
		t,
		engine.Config{
			DB: db, Store: store, OnCommit: first.advance, Owner: "first", Lease: time.Hour, Registry: former,
		},
	)
	awaitStatus(t, former, func(s status.Status) bool { return s.Owned }) // otherwise the second takes the others
	_, at := w.link(account, "a")
	first.wait(t, at, Links)
	run(
		t,
		engine.Config{
			DB: db, Store: store, OnCommit: second.advance, Owner: "second", Lease: time.Hour, Registry: board,
		},
	)
	awaitStatus(t, board, func(s status.Status) bool { return !s.Owned && s.Serving && s.Err == nil })
	stop()
	_, at = w.link(account, "b")
	second.wait(t, at, Links, Tree, History)
	if n := count(
		t, db, "SELECT count(*) FROM linkledger.generations WHERE owner = 'second' AND epoch = 2",
	); n != int64(len(Names())) {
		t.Errorf("the second process owns %d projections", n)
	}
}

// TestIdleOwnerStaysOwner checks that the owner stays the same during several leases in which
// the log has no new events.
func TestIdleOwnerStaysOwner(t *testing.T) {
	t.Parallel()
	db, store := openDatabase(t), eventstoretest.New(t)
	const lease = 3 * time.Second
	owned := &status.Registry{}
	run(t, engine.Config{DB: db, Store: store, Owner: "first", Registry: owned, Lease: lease})
	awaitStatus(t, owned, func(s status.Status) bool { return s.Owned })
	run(t, engine.Config{DB: db, Store: store, Owner: "second", Lease: lease})
	select {
	case <-time.After(2 * lease):
	case <-t.Context().Done():
	}
	if n := count(
		t, db, "SELECT count(*) FROM linkledger.generations WHERE owner = 'first' AND epoch = 1",
	); n != int64(len(Names())) {
		t.Errorf("the first process owns %d projections", n)
	}
}

// TestKilledOwnerIsFollowedAtOnce releases the presence lock of an owner, as a kill does. It checks
// that another process takes over long before the lease expires.
func TestKilledOwnerIsFollowedAtOnce(t *testing.T) {
	t.Parallel()
	db, store := openDatabase(t), eventstoretest.New(t)
	w, progress, board := newWriter(t, store), newProgressLog(), &status.Registry{}
	kill := present(t, db, "killed")
	ctx := withTimeout(t)
	if _, err := db.NewRaw(`UPDATE linkledger.generations
		SET owner = 'killed', epoch = 7, lease_until = clock_timestamp() + interval '1h'`).Exec(ctx); err != nil {
		t.Fatal(err)
	}
	run(t, engine.Config{DB: db, Store: store, OnCommit: progress.advance, Owner: "next", Registry: board})
	awaitStatus(t, board, func(s status.Status) bool { return !s.Owned && s.Serving })
	if n := count(t, db, "SELECT count(*) FROM linkledger.generations WHERE owner <> 'killed'"); n != 0 {
		t.Fatalf("%d generations were taken from an owner that is present", n)
	}
	overviews, err := Overviews(ctx, db, store)
	if err != nil || overviews[0].State == status.Unowned {
		t.Errorf("while the owner is present: %+v, %v", overviews, err)
	}

	kill()
	_, at := w.link(w.account(), "a")
	progress.wait(t, at, Links, Tree)
	awaitStatus(t, board, func(s status.Status) bool { return s.Owned })
	if n := count(
		t, db, "SELECT count(*) FROM linkledger.generations WHERE owner = 'next' AND epoch = 8",
	); n != int64(len(Names())) {
		t.Errorf("the next owner owns %d projections", n)
	}
}

// TestTakeOver checks that a process takes over from an owner that does not renew its lease, like a
// suspended one, and that it does so again after it lost an election.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	db, store := openDatabase(t), eventstoretest.New(t)
	w, progress := newWriter(t, store), newProgressLog()
	present(t, db, "suspended")
	if _, err := db.NewRaw(`UPDATE linkledger.generations
		SET owner = 'suspended', epoch = 7, lease_until = clock_timestamp() + interval '2s'`).Exec(
		withTimeout(t),
	); err != nil {
		t.Fatal(err)
	}
	run(t, engine.Config{DB: db, Store: store, OnCommit: progress.advance, Owner: "next", Lease: 2 * time.Second})
	_, at := w.link(w.account(), "a")
	progress.wait(t, at, Names()...)
	// Another process wins the next election without the owner's knowledge. The owner must notice,
	// and stand for election again.
	if _, err := db.NewRaw(`UPDATE linkledger.generations
		SET owner = 'usurper', epoch = epoch + 1, lease_until = clock_timestamp() + interval '1s'`).Exec(
		withTimeout(t),
	); err != nil {
		t.Fatal(err)
	}
	_, at = w.link(w.account(), "b")
	progress.wait(t, at, Names()...)
	if n := count(t, db, "SELECT min(epoch) FROM linkledger.generations WHERE owner = 'next'"); n != 10 {
		t.Errorf("the next owner is the owner again in epoch %d, want 10", n)
	}
}
