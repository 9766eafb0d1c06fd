package rebuild_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/internal/pgserver/postgrestest"
	"linkledger/projections"
	"linkledger/projections/engine"
	"linkledger/projections/engine/deadletter"
	"linkledger/projections/engine/generation"
	"linkledger/projections/engine/rebuild"
	"linkledger/projections/engine/status"
	"linkledger/projections/projectionstest"
	"linkledger/projections/readmodel"
)

func rebuildAndWait(t *testing.T, db *readmodel.DB, store *eventstore.Store, progress *projectionstest.Progress, names ...string) {
	t.Helper()
	cfg := engine.Config{DB: db, Store: store, Owner: "operator", OnCommit: progress.Advance}
	if err := projections.Rebuild(projectionstest.Context(t), cfg, names, func([]status.Progress) {}); err != nil {
		t.Fatal(err)
	}
}

// TestRebuildUnderLoad rebuilds while links are created, edited, clicked and read. It checks that a
// reader never misses an existing link, and that the generations are equal in the end.
func TestRebuildUnderLoad(t *testing.T) {
	t.Parallel()
	db, store := projectionstest.Open(t), eventstoretest.New(t)
	w, progress := projectionstest.NewWriter(t, store), projectionstest.NewProgress()
	service := engine.Config{DB: db, Store: store, OnCommit: progress.Advance, Owner: "service"}
	projectionstest.Run(t, service)
	account := w.Account()
	for i := range 200 {
		w.Link(account, fmt.Sprint("before", i))
	}
	ctx, stop := context.WithCancel(t.Context())
	var load sync.WaitGroup
	written := 200
	var last uint64
	load.Go(func() {
		for ; ctx.Err() == nil; written++ {
			id, at := w.Link(account, fmt.Sprint("during", written))
			at = max(at, w.Click("n", id, "v"))
			progress.Wait(t, at, projections.Links)
			if n := projectionstest.Count(t, db, "SELECT count(*) FROM linkledger.links JOIN linkledger.link_stats ON url_id = id "+
				"WHERE hash = ?",
				fmt.Sprint("during", written)); n != 1 {
				t.Errorf("link %d is missing", written)
				return
			}
			if n := projectionstest.Count(t, db, "SELECT count(*) FROM linkledger.links"); n < int64(written) {
				t.Errorf("%d links where %d were written", n, written)
			}
			last = at
		}
	})
	for range 3 {
		rebuildAndWait(t, db, store, progress, projections.Links)
	}
	stop()
	load.Wait()
	progress.Wait(t, last, projections.Links)
	ctx = projectionstest.Context(t)
	for ctx.Err() == nil &&
		projectionstest.Count(t, db, "SELECT count(DISTINCT commit_pos) FROM linkledger.generations WHERE name = 'links'") > 1 {
		<-time.After(time.Millisecond)
	}
	want := projectionstest.Dump(ctx, t, db, "links_g1")
	for generation := 2; generation <= 4; generation++ {
		if got := projectionstest.Dump(ctx, t, db, readmodel.GenerationSchema(projections.Links, generation)); got != want {
			t.Errorf("generation %d:\n%s\nthe first:\n%s", generation, got, want)
		}
	}
	if n := projectionstest.Count(t, db, "SELECT generation FROM linkledger.generations WHERE name = 'links' AND serving"); n != 4 {
		t.Errorf("generation %d serves", n)
	}
	if n := projectionstest.Count(t, db, `SELECT count(*) FROM (SELECT schemaname, regexp_replace(indexdef, 'links_g\d+', '') AS def FROM pg_indexes
		WHERE schemaname IN ('links_g1', 'links_g4')) i GROUP BY def HAVING count(*) <> 2 UNION ALL SELECT 0 LIMIT 1`); n != 0 {
		t.Errorf("the generations have different indexes")
	}
}

// TestRollbackAndPrune switches back to the previous generation, which was kept up to date. Then it
// builds a new one.
func TestRollbackAndPrune(t *testing.T) {
	t.Parallel()
	ctx := projectionstest.Context(t)
	db, store := projectionstest.Open(t), eventstoretest.New(t)
	w, progress := projectionstest.NewWriter(t, store), projectionstest.NewProgress()
	stop := projectionstest.Run(t, engine.Config{DB: db, Store: store, OnCommit: progress.Advance})
	account := w.Account()
	w.Link(account, "a")
	if _, err := projections.Rollback(ctx, db, store, projections.Links); !errors.Is(err, rebuild.ErrNoGeneration) {
		t.Errorf("rollback to nothing: %v", err)
	}
	rebuildAndWait(t, db, store, progress, projections.Links, projections.Tags)
	_, at := w.Link(account, "b")
	progress.Wait(t, at, projections.Links)
	if g, err := projections.Rollback(ctx, db, store, projections.Links); g != 1 || err != nil {
		t.Fatalf("rolled back to %d, %v", g, err)
	}
	if n := projectionstest.Count(t, db, "SELECT count(*) FROM linkledger.links"); n != 2 {
		t.Errorf("%d links after the rollback, want 2", n)
	}
	_, at = w.Link(account, "c")
	progress.Wait(t, at, projections.Links)
	if n, err := projections.Prune(ctx, db, projections.Links); n != 1 || err != nil {
		t.Errorf("%d generations pruned, %v", n, err)
	}
	if n := projectionstest.Count(t, db, "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'links_g%'"); n != 1 {
		t.Errorf("%d schemas are left, want 1", n)
	}
	stop()
	w.Append("tags-"+account.String(), projectionstest.TagCreated(account))
	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if _, err := db.NewRaw(
		"UPDATE linkledger.generations SET commit_pos = commit_pos + 1000 WHERE name = 'tags' AND serving",
	).Exec(ctx); err != nil {
		t.Fatal(err)
	}
	// The event store's client reports the end of the time of a call as an outage.
	timedOut := func(err error) bool {
		return short.Err() != nil &&
			(errors.Is(err, context.DeadlineExceeded) || errors.Is(err, eventstore.ErrUnavailable))
	}
	if g, err := projections.Rollback(short, db, store, projections.Tags); !errors.Is(err, rebuild.ErrBehind) && !timedOut(err) {
		t.Errorf("rolled back to generation %d, which is not kept up to date: %v", g, err)
	}
}

// TestInterruptedRebuild ends a process that rebuilds, and checks that the next rebuild continues
// the same build.
func TestInterruptedRebuild(t *testing.T) {
	t.Parallel()
	db, store := projectionstest.Open(t), eventstoretest.New(t)
	w := projectionstest.NewWriter(t, store)
	account := w.Account()
	for i := range 300 {
		w.Link(account, strconv.Itoa(i))
	}
	ctx, cancel := context.WithCancel(projectionstest.Context(t))
	defer cancel()
	cfg := engine.Config{DB: db, Store: store, Owner: "first", BatchSize: 1} // small batches slow the rebuild down
	if err := projections.Rebuild(ctx, cfg, []string{projections.Links}, func([]status.Progress) { cancel() }); err != nil &&
		!errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	rebuildAndWait(t, db, store, projectionstest.NewProgress(), projections.Links)
	if n := projectionstest.Count(
		t, db, "SELECT count(*) FROM linkledger.generations WHERE name = 'links' AND generation = 2 AND serving",
	); n != 1 {
		t.Error("the second rebuild did not complete the build of the first one")
	}
	if n := projectionstest.Count(t, db, "SELECT created FROM linkledger.link_tallies"); n != 300 {
		t.Errorf("%d links are counted, want 300", n)
	}
}

// TestRebuildSetsPoisonAside checks that an event that cannot be applied does not keep a rebuild from
// taking over.
func TestRebuildSetsPoisonAside(t *testing.T) {
	t.Parallel()
	db, store := projectionstest.Open(t), eventstoretest.New(t)
	w := projectionstest.NewWriter(t, store)
	w.Append("tags-x", projectionstest.TagCreated(w.Account()))
	account := w.Account()
	w.Append("tags-"+account.String(), projectionstest.TagCreated(account))
	if err := projections.Rebuild(
		projectionstest.Context(t), engine.Config{DB: db, Store: store}, []string{projections.Tags}, func([]status.Progress) {},
	); err != nil {
		t.Fatal(err)
	}
	letters, err := deadletter.List(t.Context(), db, projections.Tags)
	if err != nil || len(letters) != 1 || letters[0].Stream != "tags-x" || letters[0].Generation != 2 {
		t.Errorf("letters %+v, %v", letters, err)
	}
	if n := projectionstest.Count(
		t, db, "SELECT count(*) FROM linkledger.generations WHERE name = 'tags' AND serving AND generation = 2",
	); n != 1 {
		t.Error("the build does not serve")
	}
	if n := projectionstest.Count(t, db, "SELECT count(*) FROM linkledger.tags"); n != 1 {
		t.Errorf("%d tags", n)
	}
}

// TestAnotherShape starts this program beside a version whose tables have another shape. The other
// version continues with its own generation. This program builds its own and takes over. It does
// not change the other version's generation.
func TestAnotherShape(t *testing.T) {
	t.Parallel()
	ctx := projectionstest.Context(t)
	db, store := projectionstest.Open(t), eventstoretest.New(t)
	w, progress := projectionstest.NewWriter(t, store), projectionstest.NewProgress()
	err := db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.NewRaw(`UPDATE linkledger.generations SET shape = 'older' WHERE name = 'tags';
			ALTER TABLE tags_g1.tags DROP COLUMN created_at CASCADE; CREATE VIEW linkledger.tags AS SELECT * FROM tags_g1.tags`).Exec(ctx)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	account := w.Account()
	at := w.Append("tags-"+account.String(), projectionstest.TagCreated(account))
	if err := projections.Rebuild(
		ctx, engine.Config{DB: db, Store: store}, []string{projections.Tags}, nil,
	); !errors.Is(err, generation.ErrOtherShape) {
		t.Errorf("rebuilding while another version serves: %v", err)
	}
	if err := projectionstest.Prepare(ctx, db); err != nil {
		t.Fatal(err)
	}
	waited := make(chan error, 1)
	go func() { waited <- rebuild.AwaitShapes(ctx, db, projections.Names()) }()
	projectionstest.Run(t, engine.Config{DB: db, Store: store, OnCommit: progress.Advance})
	if err := <-waited; err != nil {
		t.Fatal(err)
	}
	if n := projectionstest.Count(t, db, "SELECT count(*) FROM linkledger.tags WHERE created_at IS NOT NULL"); n != 1 {
		t.Errorf("%d tags in the new shape, want 1 up to %d", n, at)
	}
	if n := projectionstest.Count(
		t, db, "SELECT count(*) FROM linkledger.generations WHERE name = 'tags' AND generation = 1 AND commit_pos = 0",
	); n != 1 {
		t.Error("this program wrote to tables of another shape")
	}
}

// TestRebuildWithinItsConnections rebuilds all projections concurrently over few connections.
func TestRebuildWithinItsConnections(t *testing.T) {
	t.Parallel()
	const pooled, beside = 6, 2 // one to listen for the election, and one to lock the schemas briefly
	dsn := postgrestest.NewDatabase(t)
	watching, store := projectionstest.OpenAt(t, dsn), eventstoretest.New(t)
	if err := projectionstest.Prepare(projectionstest.Context(t), watching); err != nil {
		t.Fatal(err)
	}
	w := projectionstest.NewWriter(t, store)
	account := w.Account()
	for i := range 200 {
		w.Link(account, strconv.Itoa(i))
	}
	db, err := readmodel.Open(projectionstest.Context(t), dsn+"&application_name=rebuild", pooled)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	most, samples := int64(0), 0
	err = projections.Rebuild(projectionstest.Context(t), engine.Config{DB: db, Store: store, BatchSize: 1}, projections.Names(), func([]status.Progress) {
		most = max(
			most,
			projectionstest.Count(
				t, watching,
				"SELECT count(*) FROM pg_stat_activity WHERE application_name = 'rebuild' AND datname = "+
					"current_database()",
			),
		)
		samples++
	})
	if err != nil {
		t.Fatal(err)
	}
	if most == 0 || most > pooled+beside {
		t.Errorf("%d connections in %d samples, at most %d are allowed", most, samples, pooled+beside)
	}
	if n := db.Pool.Config().MaxConns + db.Writers.Config().MaxConns; n != pooled {
		t.Errorf("the pools have %d connections, want %d", n, pooled)
	}
	if n := projectionstest.Count(
		t, watching, "SELECT count(*) FROM linkledger.generations WHERE serving AND generation = 2",
	); n != int64(len(projections.Names())) {
		t.Errorf("%d projections were rebuilt", n)
	}
}
