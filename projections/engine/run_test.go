package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"linkledger/events"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/internal/pgserver/postgrestest"
	"linkledger/projections"
	"linkledger/projections/engine"
	"linkledger/projections/engine/generation"
	"linkledger/projections/engine/status"
	"linkledger/projections/projectionstest"
)

// TestCompetitorsApplyEachEventOnce runs the projections twice on one database, in small batches.
func TestCompetitorsApplyEachEventOnce(t *testing.T) {
	t.Parallel()
	db, store := projectionstest.Open(t), eventstoretest.New(t)
	w, progress := projectionstest.NewWriter(t, store), projectionstest.NewProgress()
	for range 2 {
		projectionstest.Run(t, engine.Config{DB: db, Store: store, OnCommit: progress.Advance, BatchSize: 7})
	}
	link, last := w.Link(w.Account(), "h")
	for i := range 300 {
		last = w.Click("n", link, fmt.Sprint("v", i%10))
	}
	progress.Wait(t, last, projections.Links)
	if n := projectionstest.Count(t, db, "SELECT total_clicks FROM linkledger.link_stats"); n != 300 {
		t.Errorf("%d clicks, want 300", n)
	}
	if n := projectionstest.Count(t, db, "SELECT unique_clicks FROM linkledger.link_stats"); n != 10 {
		t.Errorf("%d unique clicks, want 10", n)
	}
	if n := projectionstest.Count(t, db, "SELECT sum(total_clicks) FROM linkledger.link_days"); n != 300 {
		t.Errorf("%d daily clicks, want 300", n)
	}
}

// TestLostConnections closes all connections to the database repeatedly.
func TestLostConnections(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.NewDatabase(t)
	db, admin := projectionstest.OpenAt(t, dsn), projectionstest.OpenAt(t, dsn)
	if err := projectionstest.Prepare(projectionstest.Context(t), db); err != nil {
		t.Fatal(err)
	}
	store := eventstoretest.New(t)
	w, progress := projectionstest.NewWriter(t, store), projectionstest.NewProgress()
	projectionstest.Run(t, engine.Config{DB: db, Store: store, OnCommit: progress.Advance, BatchSize: 3})
	link, last := w.Link(w.Account(), "h")
	for i := range 200 {
		last = w.Click("n", link, fmt.Sprint("v", i%10))
		if i%40 == 20 {
			projectionstest.Count(t, admin, `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
				WHERE datname = current_database() AND pid <> pg_backend_pid()`)
		}
	}
	progress.Wait(t, last, projections.Links)
	if n := projectionstest.Count(t, db, "SELECT total_clicks * 1000 + unique_clicks FROM linkledger.link_stats"); n != 200_010 {
		t.Errorf("%d clicks (unique in the last three digits), want 200 and 10", n)
	}
}

// TestCheckpointPassesForeignEvents checks that the checkpoint moves past events that the
// projection does not follow.
func TestCheckpointPassesForeignEvents(t *testing.T) {
	t.Parallel()
	db, store := projectionstest.Open(t), eventstoretest.New(t)
	w, progress := projectionstest.NewWriter(t, store), projectionstest.NewProgress()
	first := w.Append(events.StreamHash+"first", events.HashClaimed{})
	for i := range 100 { // more in total than the event store scans between two reports of its position
		w.Append(events.StreamHash+strconv.Itoa(i), slices.Repeat([]events.Event{events.HashClaimed{}}, 100)...)
	}
	projectionstest.Run(t, engine.Config{DB: db, Store: store, OnCommit: progress.Advance})
	progress.Wait(t, first, projections.Names()...)
	if n := projectionstest.Count(t, db, "SELECT count(*) FROM linkledger.generations WHERE commit_pos > 0"); n != int64(len(projections.Names())) {
		t.Errorf("%d projections passed the events", n)
	}
}

// TestProgressClearsTheLastError gives a generation an error, and commits a batch: other processes no longer read the
// error.
func TestProgressClearsTheLastError(t *testing.T) {
	t.Parallel()
	db, store := projectionstest.Open(t), eventstoretest.New(t)
	w, progress := projectionstest.NewWriter(t, store), projectionstest.NewProgress()
	_, first := w.Link(w.Account(), "first")
	projectionstest.Run(t, engine.Config{DB: db, Store: store, OnCommit: progress.Advance, Lease: time.Hour}) // no renewal helps
	progress.Wait(t, first, projections.Links)
	if _, err := db.NewRaw("UPDATE linkledger.generations SET last_error = 'away' WHERE name = ?", projections.Links).
		Exec(projectionstest.Context(t)); err != nil {
		t.Fatal(err)
	}
	_, second := w.Link(w.Account(), "second")
	progress.Wait(t, second, projections.Links)
	if n := projectionstest.Count(t, db, "SELECT count(*) FROM linkledger.generations WHERE last_error <> ''"); n != 0 {
		t.Error("a projection that makes progress still has an error")
	}
}

// TestInterruption starts the projections on a database whose tables are created later.
func TestInterruption(t *testing.T) {
	t.Parallel()
	db, store := projectionstest.OpenAt(t, postgrestest.NewDatabase(t)), eventstoretest.New(t)
	if err := db.Locked(projectionstest.Context(t), db.Migrate); err != nil {
		t.Fatal(err)
	}
	w, progress := projectionstest.NewWriter(t, store), projectionstest.NewProgress()
	board := &status.Registry{}
	projectionstest.Run(
		t,
		engine.Config{
			DB: db, Store: store, OnCommit: progress.Advance, Registry: board, Lease: generation.DefaultLease / 20,
		},
	)
	projectionstest.AwaitStatus(t, board, func(s status.Status) bool { return errors.Is(s.Err, generation.ErrNotPrepared) })
	if err := projectionstest.Prepare(projectionstest.Context(t), db); err != nil {
		t.Fatal(err)
	}
	_, last := w.Link(w.Account(), "h")
	progress.Wait(t, last, projections.Links)
	for _, s := range board.All() {
		if s.Err != nil && s.Projection == projections.Links { // the other projections may have no events yet
			t.Errorf("status %+v", s)
		}
	}
}
