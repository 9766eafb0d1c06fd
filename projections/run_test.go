package projections

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/internal/pgserver/postgrestest"
	"linkledger/projections/engine"
	"linkledger/projections/engine/generation"
	"linkledger/projections/engine/status"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
)

// run starts the projections and returns a function that stops them. They also stop when the test
// ends.
func run(t testing.TB, cfg engine.Config) (stop func()) {
	t.Helper()
	return start(t, func(ctx context.Context) error { return Run(ctx, cfg) })
}

// runOnly starts one projection.
func runOnly(t testing.TB, name string, cfg engine.Config) (stop func()) {
	t.Helper()
	p, err := all().Named(name)
	if err != nil {
		t.Fatal(err)
	}
	return start(t, func(ctx context.Context) error { return engine.Run(ctx, projection.Set{p}, cfg) })
}

func start(t testing.TB, run func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// writer appends to streams that only it writes to.
type writer struct {
	t         testing.TB
	store     *eventstore.Store
	revisions map[string]eventstore.Revision
}

func newWriter(t testing.TB, store *eventstore.Store) *writer {
	t.Helper()
	return &writer{t: t, store: store, revisions: make(map[string]eventstore.Revision)}
}

// append appends events and returns the commit position of the last one.
func (w *writer) append(stream string, es ...events.Event) uint64 {
	w.t.Helper()
	expected, ok := w.revisions[stream]
	if !ok {
		expected = eventstore.NoStream
	}
	appended, err := w.store.Append(withTimeout(w.t), eventstore.Write{
		Stream: stream, Expected: expected, Command: uuid.New(), Events: es,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.revisions[stream] = appended.Revision
	return appended.Position.Commit
}

func (w *writer) account() uuid.UUID {
	id := uuid.New()
	w.append(
		events.StreamAccount+id.String(), events.AccountOpened{Account: id.String(), Username: id.String(), At: noon},
	)
	return id
}

func (w *writer) link(account uuid.UUID, hash string) (uuid.UUID, uint64) {
	id := uuid.New()
	return id, w.append(events.StreamURL+id.String(), events.URLCreated{
		URLID: id.String(), Account: account.String(), Hash: hash, LongURL: "https://example.com/", At: noon,
	})
}

func (w *writer) click(stream string, link uuid.UUID, visitor string) uint64 {
	return w.append(events.StreamClicks+stream, events.ClicksRecorded{
		Clicks: []events.Click{{URLID: link.String(), Visitor: visitor, At: noon}},
	})
}

func count(t testing.TB, db *readmodel.DB, query string, args ...any) int64 {
	t.Helper()
	var n int64
	if err := db.NewRaw(query, args...).Scan(withTimeout(t), &n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

func TestRunFollowsTheLog(t *testing.T) {
	t.Parallel()
	db, store := openDatabase(t), eventstoretest.New(t)
	w, progress := newWriter(t, store), newProgressLog()
	board := &status.Registry{}
	account := w.account()
	stop := run(t, engine.Config{DB: db, Store: store, OnCommit: progress.advance, Registry: board})

	link, position := w.link(account, "first")
	progress.wait(t, position, Links)
	url := events.StreamURL + link.String()
	w.append(url, events.URLRenamed{From: "first", To: "second", At: noon})
	tag := uuid.New().String()
	planned := w.append(events.StreamAccount+account.String(), events.PlanChanged{Plan: "pro", At: noon})
	tagged := w.append(
		events.StreamTags+account.String(),
		events.TagCreated{TagID: tag, Account: account.String(), Label: "news", At: noon},
	)
	w.append(url, events.URLTagged{Tags: []string{tag}, At: noon})
	w.click("a", link, "v1")
	w.click("a", link, "v1")
	position = w.click("b", link, "v2")
	progress.wait(t, position, Links, Dimensions, Tree)
	progress.wait(t, tagged, Tags, History)
	progress.wait(t, planned, Accounts)
	if n := count(t, db, `SELECT count(*) FROM linkledger.links JOIN linkledger.link_stats s ON s.url_id = id
		JOIN linkledger.tags g ON g.id = ANY(tag_ids)
		WHERE hash = 'second' AND total_clicks = 3 AND unique_clicks = 2 AND label = 'news'`); n != 1 {
		t.Errorf("the expected link was found %d times, want once", n)
	}

	stop()
	w.append(events.StreamTags+account.String(), events.TagDeleted{TagID: tag, At: noon})
	position = w.append(url, events.URLDeleted{Account: account.String(), Hash: "second", At: noon})
	run(t, engine.Config{DB: db, Store: store, OnCommit: progress.advance})
	progress.wait(t, position, Links)
	if n := count(t, db, "SELECT count(*) FROM linkledger.links WHERE deleted_at IS NOT NULL"); n != 1 {
		t.Errorf("%d deleted links, want 1", n)
	}
	for _, s := range board.All() {
		if s.Err != nil || s.Events == 0 || s.LastEvent.IsZero() {
			t.Errorf("status %+v", s)
		}
	}
}

// TestCompetitorsApplyEachEventOnce runs the projections twice on one database, in small batches.
func TestCompetitorsApplyEachEventOnce(t *testing.T) {
	t.Parallel()
	db, store := openDatabase(t), eventstoretest.New(t)
	w, progress := newWriter(t, store), newProgressLog()
	for range 2 {
		run(t, engine.Config{DB: db, Store: store, OnCommit: progress.advance, BatchSize: 7})
	}
	link, last := w.link(w.account(), "h")
	for i := range 300 {
		last = w.click("n", link, fmt.Sprint("v", i%10))
	}
	progress.wait(t, last, Links)
	if n := count(t, db, "SELECT total_clicks FROM linkledger.link_stats"); n != 300 {
		t.Errorf("%d clicks, want 300", n)
	}
	if n := count(t, db, "SELECT unique_clicks FROM linkledger.link_stats"); n != 10 {
		t.Errorf("%d unique clicks, want 10", n)
	}
	if n := count(t, db, "SELECT sum(total_clicks) FROM linkledger.link_days"); n != 300 {
		t.Errorf("%d daily clicks, want 300", n)
	}
}

// TestLostConnections closes all connections to the database repeatedly.
func TestLostConnections(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.NewDatabase(t)
	db, admin := reopen(t, dsn), reopen(t, dsn)
	if err := prepareAll(withTimeout(t), db); err != nil {
		t.Fatal(err)
	}
	store := eventstoretest.New(t)
	w, progress := newWriter(t, store), newProgressLog()
	run(t, engine.Config{DB: db, Store: store, OnCommit: progress.advance, BatchSize: 3})
	link, last := w.link(w.account(), "h")
	for i := range 200 {
		last = w.click("n", link, fmt.Sprint("v", i%10))
		if i%40 == 20 {
			count(t, admin, `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
				WHERE datname = current_database() AND pid <> pg_backend_pid()`)
		}
	}
	progress.wait(t, last, Links)
	if n := count(t, db, "SELECT total_clicks * 1000 + unique_clicks FROM linkledger.link_stats"); n != 200_010 {
		t.Errorf("%d clicks (unique in the last three digits), want 200 and 10", n)
	}
}

// TestCheckpointPassesForeignEvents checks that the checkpoint moves past events that the
// projection does not follow.
func TestCheckpointPassesForeignEvents(t *testing.T) {
	t.Parallel()
	db, store := openDatabase(t), eventstoretest.New(t)
	w, progress := newWriter(t, store), newProgressLog()
	first := w.append(events.StreamHash+"first", events.HashClaimed{})
	for i := range 100 { // more in total than the event store scans between two reports of its position
		w.append(events.StreamHash+strconv.Itoa(i), slices.Repeat([]events.Event{events.HashClaimed{}}, 100)...)
	}
	run(t, engine.Config{DB: db, Store: store, OnCommit: progress.advance})
	progress.wait(t, first, Names()...)
	if n := count(t, db, "SELECT count(*) FROM linkledger.generations WHERE commit_pos > 0"); n != int64(len(Names())) {
		t.Errorf("%d projections passed the events", n)
	}
}

// TestProgressClearsTheLastError gives a generation an error, and commits a batch: other processes no longer read the
// error.
func TestProgressClearsTheLastError(t *testing.T) {
	t.Parallel()
	db, store := openDatabase(t), eventstoretest.New(t)
	w, progress := newWriter(t, store), newProgressLog()
	_, first := w.link(w.account(), "first")
	run(t, engine.Config{DB: db, Store: store, OnCommit: progress.advance, Lease: time.Hour}) // no renewal helps
	progress.wait(t, first, Links)
	if _, err := db.NewRaw("UPDATE linkledger.generations SET last_error = 'away' WHERE name = ?", Links).
		Exec(withTimeout(t)); err != nil {
		t.Fatal(err)
	}
	_, second := w.link(w.account(), "second")
	progress.wait(t, second, Links)
	if n := count(t, db, "SELECT count(*) FROM linkledger.generations WHERE last_error <> ''"); n != 0 {
		t.Error("a projection that makes progress still has an error")
	}
}

// TestInterruption starts the projections on a database whose tables are created later.
func TestInterruption(t *testing.T) {
	t.Parallel()
	db, store := reopen(t, postgrestest.NewDatabase(t)), eventstoretest.New(t)
	if err := db.Locked(withTimeout(t), db.Migrate); err != nil {
		t.Fatal(err)
	}
	w, progress := newWriter(t, store), newProgressLog()
	board := &status.Registry{}
	run(
		t,
		engine.Config{
			DB: db, Store: store, OnCommit: progress.advance, Registry: board, Lease: generation.DefaultLease / 20,
		},
	)
	awaitStatus(t, board, func(s status.Status) bool { return errors.Is(s.Err, generation.ErrNotPrepared) })
	if err := prepareAll(withTimeout(t), db); err != nil {
		t.Fatal(err)
	}
	_, last := w.link(w.account(), "h")
	progress.wait(t, last, Links)
	for _, s := range board.All() {
		if s.Err != nil && s.Projection == Links { // the other projections may have no events yet
			t.Errorf("status %+v", s)
		}
	}
}

// awaitStatus waits until the status of each projection meets a condition.
func awaitStatus(t *testing.T, board *status.Registry, says func(status.Status) bool) {
	t.Helper()
	ctx := withTimeout(t)
	for {
		statuses := board.All()
		if len(statuses) >= len(all()) &&
			!slices.ContainsFunc(statuses, func(s status.Status) bool { return !says(s) }) {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the statuses are %+v", statuses)
		case <-time.After(time.Millisecond):
		}
	}
}

func tagCreated(account uuid.UUID) events.TagCreated {
	return events.TagCreated{TagID: uuid.New().String(), Account: account.String(), Label: "news", At: noon}
}
