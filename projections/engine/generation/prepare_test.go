package generation_test

import (
	"errors"
	"sync"
	"testing"

	"linkledger/events"
	"linkledger/internal/pgserver/postgrestest"
	"linkledger/projections"
	"linkledger/projections/foldtest"
	"linkledger/projections/logtest"
	"linkledger/projections/projectionstest"
	"linkledger/projections/readmodel"
)

// TestPrepareAtOnce starts many processes concurrently on an empty database.
func TestPrepareAtOnce(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.NewDatabase(t)
	dbs := make([]*readmodel.DB, 6)
	for i := range dbs {
		dbs[i] = projectionstest.OpenAt(t, dsn)
	}
	outcomes := make([]error, len(dbs))
	var all sync.WaitGroup
	for i, db := range dbs {
		all.Go(func() { outcomes[i] = projections.Prepare(projectionstest.Context(t), db) })
	}
	all.Wait()
	if err := errors.Join(outcomes...); err != nil {
		t.Fatal(err)
	}
	if n := projectionstest.Count(
		t, dbs[0], "SELECT count(*) FROM linkledger.generations WHERE generation = 1 AND serving AND commit_pos = 0",
	); n != int64(len(projections.Names())) {
		t.Errorf("%d projections", n)
	}
	tables := projectionstest.Count(t, dbs[0], `SELECT count(*) FROM pg_tables WHERE schemaname LIKE '%\_g1'`)
	if n := projectionstest.Count( // migrations is the view that refuses older programs
		t, dbs[0], "SELECT count(*) FROM pg_views WHERE schemaname = 'linkledger' AND viewname <> 'migrations'",
	); n != tables || n < 14 {
		t.Errorf("%d views of %d tables", n, tables)
	}
}

// TestPrepareKeeps checks that Prepare does not change what exists.
func TestPrepareKeeps(t *testing.T) {
	t.Parallel()
	ctx := projectionstest.Context(t)
	w := foldtest.New(t, projections.Accounts)
	h := logtest.Record(nil, "account-8f14e45f-ceea-467f-a8e0-9d0b1f3a7c11", 0, events.AccountOpened{At: logtest.Noon})
	foldtest.Apply(ctx, t, w.Projector(ctx, t), h)
	before := w.Dump(ctx, t)
	if err := projections.Prepare(ctx, w.DB); err != nil {
		t.Fatal(err)
	}
	if after := w.Dump(ctx, t); after != before {
		t.Errorf("after another Prepare:\n%s\nbefore:\n%s", after, before)
	}
	if n := projectionstest.Count(t, w.DB, "SELECT count(*) FROM linkledger.generations WHERE commit_pos > 0"); n != 1 {
		t.Errorf("%d checkpoints are beyond the start, want 1", n)
	}
}
