package verify_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"pgregory.net/rapid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/projections"
	"linkledger/projections/engine"
	"linkledger/projections/engine/deadletter"
	"linkledger/projections/engine/generation"
	"linkledger/projections/engine/status"
	"linkledger/projections/engine/verify"
	"linkledger/projections/foldtest"
	"linkledger/projections/logtest"
	"linkledger/projections/projection"
	"linkledger/projections/projectionstest"
	"linkledger/projections/readmodel"
)

// column is a column of a table in a generation's schema.
type column struct {
	Table    string `bun:"table_name"`
	Name     string `bun:"column_name"`
	Type     string `bun:"data_type"`
	Key      bool   `bun:"key"`
	Position int    `bun:"ordinal_position"`
}

func columns(ctx context.Context, w *foldtest.Workshop, t projectionstest.T) (columns []column) {
	t.Helper()
	err := w.DB.NewRaw(`SELECT table_name, column_name, data_type, ordinal_position, EXISTS (
			SELECT FROM information_schema.key_column_usage k
			WHERE (k.table_schema, k.table_name, k.column_name) = (c.table_schema, c.table_name, c.column_name)) AS key
		FROM information_schema.columns c WHERE table_schema = ? ORDER BY table_name, ordinal_position`,
		readmodel.GenerationSchema(w.Projection.Name, w.Generation)).Scan(ctx, &columns)
	if err != nil {
		t.Fatalf("columns: %v", err)
	}
	return columns
}

// otherwise returns an SQL expression for a different value of a column.
func (c column) otherwise() string {
	switch c.Type {
	case "bit":
		return "~ " + c.Name
	case "boolean":
		return "NOT " + c.Name
	case "text":
		return "coalesce(" + c.Name + ", '') || 'x'"
	case "bytea":
		return c.Name + ` || '\x01'`
	case "uuid":
		return "gen_random_uuid()"
	case "ARRAY":
		return "array_append(" + c.Name + ", NULL)"
	case "date":
		return "coalesce(" + c.Name + " - 1, '2000-01-01')"
	case "timestamp with time zone":
		return "coalesce(" + c.Name + " + interval '1 microsecond', now())"
	}
	return c.Name + " # 1" // works for any number, even the largest, and fails for other types
}

// wrong returns statements that each falsify one row of a table in one way: missing, additional, or
// different in one column.
func wrong(columns []column) map[string]string {
	statements := make(map[string]string)
	row := string(readmodel.NonEmptyRow(columns[0].Table))
	names, values := make([]string, len(columns)), make([]string, len(columns))
	for i, c := range columns {
		names[i], values[i] = c.Name, c.Name
		if c.Key || c.Name == "username" { // which no two accounts have
			values[i] = c.otherwise()
		}
		if !c.Key {
			statements["other "+c.Name] = fmt.Sprintf(
				"UPDATE ?0 SET %s = %s WHERE ctid = (SELECT min(ctid) FROM ?0 WHERE %s)", c.Name, c.otherwise(), row,
			)
		}
	}
	statements["missing"] = "DELETE FROM ?0 WHERE ctid = (SELECT max(ctid) FROM ?0 WHERE " + row + ")"
	statements["extra"] = fmt.Sprintf(
		"INSERT INTO ?0 (%s) SELECT %s FROM ?0 WHERE %s LIMIT 1", strings.Join(names, ", "), strings.Join(values, ", "), row,
	)
	return statements
}

// TestVerifyFinds falsifies one row in each table of each projection, in each way, and checks that
// Verify finds only this row.
func TestVerifyFinds(t *testing.T) {
	t.Parallel()
	for _, name := range projections.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := projectionstest.Context(t)
			w := foldtest.New(t, name)
			tables := make(map[string][]column)
			for _, c := range columns(ctx, w, t) {
				tables[c.Table] = append(tables[c.Table], c)
			}
			log := fill(ctx, t, w, tables)
			for table, columns := range tables {
				at := bun.Safe(readmodel.GenerationSchema(name, w.Generation) + "." + table)
				for kind, statement := range wrong(columns) {
					projectionstest.Exec(t, w.DB, "CREATE TABLE linkledger.sound AS TABLE ?0", at)
					if n := projectionstest.Exec(t, w.DB, statement, at); n != 1 {
						t.Fatalf("%s of %s: %d rows", kind, table, n)
					}
					found := w.Verify(ctx, t, log)
					if found.Different != 1 || len(found.Differences) != 1 {
						t.Fatalf("%s of %s: %+v", kind, table, found)
					}
					d := found.Differences[0]
					if d.Table != table || (d.Found == nil) != (kind == "missing") ||
						(d.Replayed == nil) != (kind == "extra") || len(d.Key) == 0 {
						t.Errorf("%s of %s: key %s, found %s, replayed %s", kind, table, d.Key, d.Found, d.Replayed)
					}
					projectionstest.Exec(t, w.DB, "TRUNCATE ?0; INSERT INTO ?0 TABLE linkledger.sound; DROP TABLE linkledger.sound", at)
				}
			}
		})
	}
}

// fill applies a history that leaves rows in all tables, and returns the history.
func fill(ctx context.Context, t *testing.T, w *foldtest.Workshop, tables map[string][]column) []eventstore.Recorded {
	t.Helper()
	for seed := 0; ; seed++ {
		log := rapid.Custom(logtest.Draw).Example(seed).Log
		foldtest.Apply(ctx, t, w.Empty(ctx, t), w.Followed(log))
		schema, empty := bun.Ident(readmodel.GenerationSchema(w.Projection.Name, w.Generation)), false
		for table := range tables {
			empty = empty || projectionstest.Count(t, w.DB, "SELECT count(*) FROM ?.?", schema, bun.Ident(table)) == 0
		}
		if !empty {
			return log
		}
	}
}

// TestVerifySound draws histories and checks that the tables match the log, for any batches.
func TestVerifySound(t *testing.T) {
	t.Parallel()
	workshops := foldtest.NewEach(t)
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		w := rapid.SampledFrom(workshops).Draw(t, "projection")
		h := logtest.Draw(t)
		p, log := w.Empty(ctx, t), w.Followed(h.Log)
		cut := rapid.IntRange(0, len(log)).Draw(t, "cut")
		foldtest.Apply(ctx, t, p, log[:cut])
		foldtest.Apply(ctx, t, p, log[cut:])
		if found := w.Verify(ctx, t, h.Log); found.Different != 0 || len(found.Differences) != 0 ||
			found.Events != int64(len(log)) {
			t.Fatalf("in sound tables: %+v", found)
		}
		w.Drop(ctx, t)
	})
}

// mostDifferences is the number of differences of a table that Verify lists.
const mostDifferences = 20

// TestVerifyCountsUnlistedDifferences checks the result if there are more differences than Verify
// lists.
func TestVerifyCountsUnlistedDifferences(t *testing.T) {
	t.Parallel()
	ctx := projectionstest.Context(t)
	w := foldtest.New(t, projections.Tags)
	var log []eventstore.Recorded
	account := uuid.New()
	for i := range 2 * mostDifferences {
		log = logtest.Record(log, events.StreamTags+account.String(), eventstore.Revision(i), projectionstest.TagCreated(account))
	}
	foldtest.Apply(ctx, t, w.Projector(ctx, t), log)
	if _, err := w.DB.NewRaw("UPDATE tags_g1.tags SET label = 'wrong'").Exec(ctx); err != nil {
		t.Fatal(err)
	}
	found := w.Verify(ctx, t, log)
	if found.Different != 2*mostDifferences || len(found.Differences) != mostDifferences ||
		found.Rows != 2*mostDifferences ||
		found.Events != 2*mostDifferences || found.Position != log[len(log)-1].Position {
		t.Errorf("%d of %d differences are listed in %+v", len(found.Differences), found.Different, found)
	}
}

// TestVerifyWhileServing verifies running projections repeatedly, and checks that no temporary
// tables are left.
func TestVerifyWhileServing(t *testing.T) {
	t.Parallel()
	ctx := projectionstest.Context(t)
	db, store := projectionstest.Open(t), eventstoretest.New(t)
	w := projectionstest.NewWriter(t, store)
	projectionstest.Run(t, engine.Config{DB: db, Store: store, BatchSize: 5})
	account := w.Account()
	writing, stop := context.WithCancel(ctx)
	written := make(chan struct{})
	go func() {
		defer close(written)
		for i := 0; writing.Err() == nil; i++ {
			link, _ := w.Link(account, strconv.Itoa(i))
			w.Click("n", link, strconv.Itoa(i%7))
			w.Append(events.StreamTags+account.String(), projectionstest.TagCreated(account))
		}
	}()
	for _, name := range projections.Names() { // before its first event, nothing can be compared
		for err := projections.ErrNothingCompared; errors.Is(err, projections.ErrNothingCompared); {
			_, err = projections.Verify(ctx, db, store, name, func([]status.Progress) {})
		}
	}
	last := make(map[string]uint64)
	for range 5 {
		for _, name := range projections.Names() {
			reported := status.Progress{}
			found, err := projections.Verify(ctx, db, store, name, func(p []status.Progress) { reported = p[0] })
			if err != nil || found.Different > 0 {
				t.Fatalf("verify %s: %v, %+v", name, err, found)
			}
			if !reported.Done || reported.Position != found.Position.Commit {
				t.Errorf("reported %+v, found %+v", reported, found)
			}
			if found.Position.Commit < last[name] {
				t.Errorf("%s was verified at %d after %d", name, found.Position.Commit, last[name])
			}
			last[name] = found.Position.Commit
		}
	}
	stop()
	<-written
	noTemporaryTables(t, db)
}

// noTemporaryTables waits until PostgreSQL has removed the tables of closed connections.
func noTemporaryTables(t *testing.T, db *readmodel.DB) {
	t.Helper()
	ctx := projectionstest.Context(t)
	for projectionstest.Count(t, db, "SELECT count(*) FROM pg_class WHERE relpersistence = 't'") > 0 {
		select {
		case <-ctx.Done():
			t.Fatal("temporary tables are left")
		case <-time.After(time.Millisecond):
		}
	}
}

// TestVerifyInterrupted interrupts Verify, and checks that no temporary tables are left.
func TestVerifyInterrupted(t *testing.T) {
	t.Parallel()
	db, store := projectionstest.Open(t), eventstoretest.New(t)
	w, progress := projectionstest.NewWriter(t, store), projectionstest.NewProgress()
	projectionstest.Run(t, engine.Config{DB: db, Store: store, OnCommit: progress.Advance})
	_, at := w.Link(w.Account(), "a")
	progress.Wait(t, at, projections.Links)
	ctx, cancel := context.WithCancel(projectionstest.Context(t))
	if _, err := projections.Verify(
		ctx, db, store, projections.Links, func([]status.Progress) { cancel() },
	); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	noTemporaryTables(t, db)
}

// disturbedLog is a log that calls a function at its first read.
type disturbedLog struct {
	foldtest.Log
	disturb func()
}

func (l disturbedLog) ReadLog(
	ctx context.Context, behind, upTo eventstore.Position, handle func([]eventstore.Recorded) error,
) error {
	l.disturb()
	return l.Log.ReadLog(ctx, behind, upTo, handle)
}

// TestVerifyWithDeadLetters checks that Verify leaves out parked events, and that it notices if
// they are retried meanwhile.
func TestVerifyWithDeadLetters(t *testing.T) {
	t.Parallel()
	ctx := projectionstest.Context(t)
	w := foldtest.New(t, projections.Tags)
	account := uuid.New()
	created := projectionstest.TagCreated(account)
	stream := events.StreamTags + account.String()
	log := logtest.Record(nil, events.StreamTags+uuid.New().String(), 0, projectionstest.TagCreated(account))
	log = logtest.Record(log, stream, 0, created, events.TagRenamed{TagID: created.TagID, Label: "first", At: logtest.Noon},
		events.TagRenamed{TagID: created.TagID, Label: "last", At: logtest.Noon})
	p := w.Projector(ctx, t, w.Poisoning(log[2].Position, false))
	foldtest.Apply(ctx, t, p, log)
	if found := w.Verify(ctx, t, log); found.Different > 0 || found.Events != 2 {
		t.Errorf("with dead letters: %+v", found)
	}

	disturbed := disturbedLog{Log: log, disturb: sync.OnceFunc(func() {
		if n, err := deadletter.Retry(ctx, w.DB, w.Projection, stream); n != 2 || err != nil {
			t.Errorf("%d letters retried, %v", n, err)
		}
	})}
	if _, err := verify.Run(
		ctx, w.DB, disturbed, w.Projection, func([]status.Progress) {},
	); !errors.Is(err, verify.ErrDisturbed) {
		t.Errorf("letters retried meanwhile: %v", err)
	}
	if found := w.Verify(ctx, t, log); found.Different > 0 || found.Events != 4 {
		t.Errorf("after the retry: %+v", found)
	}
}

// TestRetriedReset retries a reset after a later click, which the reset then removes. It checks
// that Verify reports the difference, and that a rebuild restores the order of the log.
func TestRetriedReset(t *testing.T) {
	t.Parallel()
	ctx := projectionstest.Context(t)
	w := foldtest.New(t, projections.Links)
	link := uuid.New().String()
	click := events.ClicksRecorded{Clicks: []events.Click{{URLID: link, Visitor: "v", At: logtest.Noon}}}
	log := logtest.Record(
		nil, events.StreamURL+link, 0,
		events.URLCreated{URLID: link, Account: uuid.New().String(), Hash: "h", At: logtest.Noon},
	)
	log = logtest.Record(log, events.StreamClicks+"a", 0, click)
	log = logtest.Record(log, events.StreamURL+link, 1, events.URLStatsReset{At: logtest.Noon})
	log = logtest.Record(log, events.StreamClicks+"a", 1, click)
	p := w.Projector(ctx, t, w.Poisoning(log[2].Position, false))
	foldtest.Apply(ctx, t, p, log)
	if n, err := deadletter.Retry(ctx, w.DB, w.Projection); n != 1 || err != nil {
		t.Fatalf("%d letters retried, %v", n, err)
	}
	found := w.Verify(ctx, t, log)
	tables := make(map[string]bool)
	for _, d := range found.Differences {
		tables[d.Table] = true
	}
	if found.Different != 5 || !tables["link_stats"] || !tables["link_days"] || !tables["visitors"] ||
		!tables["reset_days"] {
		t.Errorf("after the retry: %+v", found)
	}
	foldtest.Apply(ctx, t, w.Empty(ctx, t), log)
	if found := w.Verify(ctx, t, log); found.Different > 0 {
		t.Errorf("after a rebuild: %+v", found)
	}
}

func TestVerifyRefusals(t *testing.T) {
	t.Parallel()
	ctx := projectionstest.Context(t)
	db, store := projectionstest.Open(t), eventstoretest.New(t)
	tell := func([]status.Progress) {}
	if _, err := projections.Verify(ctx, db, store, "painting", tell); !errors.Is(err, projection.ErrUnknown) {
		t.Errorf("unknown projection: %v", err)
	}
	if _, err := db.NewRaw("UPDATE linkledger.generations SET shape = 'older' WHERE name = 'tags'").Exec(
		ctx,
	); err != nil {
		t.Fatal(err)
	}
	if _, err := projections.Verify(ctx, db, store, projections.Tags, tell); !errors.Is(err, generation.ErrOtherShape) {
		t.Errorf("another shape: %v", err)
	}
	if _, err := db.NewRaw("DELETE FROM linkledger.generations WHERE name = 'links'").Exec(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := projections.Verify(ctx, db, store, projections.Links, tell); !errors.Is(err, generation.ErrNotPrepared) {
		t.Errorf("no tables: %v", err)
	}
	w := projectionstest.NewWriter(t, store)
	at := w.Append(events.StreamAccount+uuid.New().String(), events.AccountReactivated{At: logtest.Noon})
	if _, err := db.NewRaw(
		"UPDATE linkledger.generations SET commit_pos = ?, prepare_pos = ? WHERE name = 'accounts'", at, at,
	).Exec(ctx); err != nil {
		t.Fatal(err)
	}
	_, err := projections.Verify(ctx, db, store, projections.Accounts, tell)
	if failed, ok := errors.AsType[*projection.EventError](err); !ok || failed.Position.Commit != at {
		t.Errorf("an impossible event: %v", err)
	}
}

// TestVerifyOfNothing checks that empty tables are no success if the log has events for them.
func TestVerifyOfNothing(t *testing.T) {
	t.Parallel()
	ctx, db, store := projectionstest.Context(t), projectionstest.Open(t), eventstoretest.New(t)
	verified := func(name string) error {
		_, err := projections.Verify(ctx, db, store, name, func([]status.Progress) {})
		return err
	}
	if err := verified(projections.Tags); err != nil {
		t.Errorf("with an empty log: %v", err)
	}
	if _, err := store.Append(ctx, eventstoretest.TagWrite(
		events.StreamTags+uuid.NewString(), eventstore.NoStream, uuid.New(), "a",
	)); err != nil {
		t.Fatal(err)
	}
	if err := verified(projections.Tags); !errors.Is(err, projections.ErrNothingCompared) {
		t.Errorf("with events: %v, want projections.ErrNothingCompared", err)
	}
	if err := verified(projections.Dimensions); err != nil {
		t.Errorf("without events of the projection: %v", err)
	}
}
