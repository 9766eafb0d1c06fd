package engine_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/internal/pgserver/postgrestest"
	"linkledger/projections/engine"
	"linkledger/projections/engine/deadletter"
	"linkledger/projections/engine/generation"
	"linkledger/projections/engine/rebuild"
	"linkledger/projections/engine/status"
	"linkledger/projections/engine/verify"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
)

func TestMain(m *testing.M) { eventstoretest.Main(postgrestest.Main{M: m}) }

// toyName is the name of the toy projection. It is the name of an existing projection, because
// readmodel creates tables by name and the toy needs some.
const toyName = "tags"

// toyStream is the prefix of the streams that the toy follows.
const toyStream = "toy-"

// toy is a projection that counts the events of each of its streams. While refuse returns true, it
// refuses the events of streams whose names end in "-poison".
func toy(refuse func() bool) projection.Definition {
	return projection.Definition{
		Name: toyName, Filter: projection.Streams(toyStream), Raw: true,
		Folds: projection.FoldsOf(
			func() projection.Fold { return &toyFold{refuse: refuse, counts: make(map[uuid.UUID]int64)} },
		),
	}
}

func never() bool { return false }

var errPoison = errors.New("poison")

type toyFold struct {
	refuse func() bool
	counts map[uuid.UUID]int64 // events of the batch, by stream
}

func (f *toyFold) Read(*sqlbatch.Batch, []projection.Event) {}

func (f *toyFold) Apply(e projection.Event) error {
	id, poison := strings.CutSuffix(e.Stream, "-poison")
	stream, err := uuid.Parse(strings.TrimPrefix(id, toyStream))
	if err != nil {
		return err
	}
	if poison && f.refuse() {
		return errPoison
	}
	f.counts[stream]++
	return nil
}

func (f *toyFold) Size() int { return len(f.counts) }

func (f *toyFold) Write(s *sqlbatch.Batch) (changed []string) {
	for stream, n := range f.counts {
		s.Queue(`INSERT INTO ?schema.tags AS t (id, account_id, label, created_at, position) VALUES ($1, $1, '', 'epoch', $2)
			ON CONFLICT (id) DO UPDATE SET position = t.position + EXCLUDED.position`, sqlbatch.UUID(stream), n)
		changed = append(changed, stream.String())
	}
	return changed
}

// bench has a database that is prepared for the toy, and an event store.
type bench struct {
	t     *testing.T
	ctx   context.Context //nolint:containedctx // of the test
	db    *readmodel.DB
	store *eventstore.Store
}

func newBench(t *testing.T) *bench {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	db, err := readmodel.Open(ctx, postgrestest.NewDatabase(t), 8)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close the database: %v", err)
		}
	})
	if err := errors.Join(generation.Prepare(ctx, db, []string{toyName}), db.Keys.Create(ctx)); err != nil {
		t.Fatal(err)
	}
	return &bench{t: t, ctx: ctx, db: db, store: eventstoretest.New(t)}
}

// append appends n events to a new stream whose name ends in end, and returns the stream's id.
func (b *bench) append(n int, end string) uuid.UUID {
	b.t.Helper()
	id := uuid.New()
	many := make([]events.Event, n)
	for i := range many {
		many[i] = events.HashClaimed{}
	}
	if _, err := b.store.Append(b.ctx, eventstore.Write{
		Stream: toyStream + id.String() + end, Expected: eventstore.NoStream, Command: uuid.New(), Events: many,
	}); err != nil {
		b.t.Fatal(err)
	}
	return id
}

// run runs the engine until stop is called.
func (b *bench) run(p projection.Definition, cfg engine.Config) (stop func()) {
	b.t.Helper()
	cfg.DB, cfg.Store = b.db, b.store
	ctx, cancel := context.WithCancel(b.t.Context())
	done := make(chan error, 1)
	go func() { done <- engine.Run(ctx, projection.Set{p}, cfg) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			b.t.Errorf("run: %v", err)
		}
	})
	b.t.Cleanup(stop)
	return stop
}

// await waits until readers see want events in total.
func (b *bench) await(want int64) {
	b.t.Helper()
	for {
		var got int64
		if err := b.db.NewRaw("SELECT coalesce(sum(position), 0)::bigint FROM linkledger.tags").Scan(
			b.ctx, &got,
		); err != nil {
			b.t.Fatal(err)
		}
		if got == want {
			return
		}
		select {
		case <-b.ctx.Done():
			b.t.Fatalf("readers see %d events, want %d", got, want)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func TestTwoProcessesCountEachEventOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	stopFirst := b.run(toy(never), engine.Config{Owner: "first", BatchSize: 7})
	b.run(toy(never), engine.Config{Owner: "second", BatchSize: 7})
	b.append(100, "")
	b.await(100)
	stopFirst()
	b.append(50, "")
	b.await(150)
}

func TestRebuildTakesOver(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.append(300, "")
	stop := b.run(toy(never), engine.Config{})
	b.await(300)
	stop()
	set := projection.Set{toy(never)}
	cfg := engine.Config{DB: b.db, Store: b.store}
	if err := rebuild.Run(b.ctx, set, cfg, []string{toyName}, nil, func([]status.Progress) {}); err != nil {
		t.Fatal(err)
	}
	b.await(300)
	serving, err := generation.Serving(b.ctx, b.db, toyName)
	if err != nil || serving.Generation != generation.First+1 {
		t.Errorf("generation %d serves, %v", serving.Generation, err)
	}
	if back, err := rebuild.Rollback(b.ctx, b.db, b.store, set[0]); back != generation.First || err != nil {
		t.Errorf("rolled back to generation %d, %v", back, err)
	}
	if n, err := rebuild.Prune(b.ctx, b.db, toyName); n != 1 || err != nil {
		t.Errorf("%d generations pruned, %v", n, err)
	}
	b.await(300)
}

// TestRollbackSaysWhatHeldItUp checks that a rollback that runs out of time because of a lock does
// not report that the generation is behind.
func TestRollbackSaysWhatHeldItUp(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	set := projection.Set{toy(never)}
	cfg := engine.Config{DB: b.db, Store: b.store}
	if err := rebuild.Run(b.ctx, set, cfg, []string{toyName}, nil, func([]status.Progress) {}); err != nil {
		t.Fatal(err)
	}
	lock, err := b.db.BeginTx(b.ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Rollback() }()
	if _, err := lock.NewRaw(
		"SELECT FROM linkledger.generations WHERE name = ? FOR UPDATE", toyName,
	).Exec(b.ctx); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(b.ctx, 3*time.Second)
	defer cancel()
	_, err = rebuild.Rollback(short, b.db, b.store, set[0])
	if refused, ok := errors.AsType[*pgconn.PgError](err); !ok || refused.Code != "55P03" ||
		errors.Is(err, rebuild.ErrBehind) {
		t.Errorf("got %v, want that a lock was not available", err)
	}
}

func TestVerifyComparesWithAReplay(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	stream := b.append(5, "")
	stop := b.run(toy(never), engine.Config{})
	b.await(5)
	stop()
	found, err := verify.Run(b.ctx, b.db, b.store, toy(never), func([]status.Progress) {})
	if err != nil || found.Different != 0 || found.Rows != 1 || found.Events != 5 {
		t.Fatalf("of sound tables: %+v, %v", found, err)
	}
	if _, err := b.db.NewRaw("UPDATE linkledger.tags SET position = 6 WHERE id = ?", stream).Exec(b.ctx); err != nil {
		t.Fatal(err)
	}
	found, err = verify.Run(b.ctx, b.db, b.store, toy(never), func([]status.Progress) {})
	if err != nil || found.Different != 1 || found.Differences[0].Table != "tags" {
		t.Errorf("of a damaged row: %+v, %v", found, err)
	}
}

// TestPoisonIsSetAside checks that one event that cannot be applied stops its stream alone, and that
// it is applied by a try or by an operator once that is possible.
func TestPoisonIsSetAside(t *testing.T) {
	t.Parallel()
	for name, interval := range map[string]time.Duration{"tried": 20 * time.Millisecond, "left": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			var mended atomic.Bool
			p := toy(func() bool { return !mended.Load() })
			b.append(3, "")
			poisoned := b.append(2, "-poison")
			b.append(4, "")
			stop := b.run(p, engine.Config{RetryInterval: interval})
			b.await(7)
			if name == "tried" {
				mended.Store(true)
				b.await(9)
				return
			}
			stop()
			letters, err := deadletter.List(b.ctx, b.db, toyName)
			if err != nil || len(letters) != 2 || letters[0].Stream != toyStream+poisoned.String()+"-poison" {
				t.Fatalf("letters %+v, %v", letters, err)
			}
			if n, err := deadletter.Retry(b.ctx, b.db, toy(never)); n != 2 || err != nil {
				t.Errorf("%d letters retried, %v", n, err)
			}
			b.await(9)
		})
	}
}
