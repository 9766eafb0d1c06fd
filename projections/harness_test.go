package projections

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"go.uber.org/goleak"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/internal/pgserver/postgrestest"
	"linkledger/internal/soak"
	"linkledger/projections/engine/generation"
	"linkledger/projections/engine/projector"
	"linkledger/projections/engine/status"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
)

func TestMain(m *testing.M) {
	soak.Checks(20, 200)
	// A stopped proxy with a delay may leave this goroutine behind.
	proxy := goleak.IgnoreTopFunction("github.com/Shopify/toxiproxy/v2/toxics.(*LatencyToxic).Pipe")
	goleak.VerifyTestMain(postgrestest.Main{M: m}, proxy)
}

// testTimeout bounds the waits of a test.
const testTimeout = 3 * time.Minute

func withTimeout(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	t.Cleanup(cancel)
	return ctx
}

// openDatabase returns a prepared database for one test.
func openDatabase(t testing.TB) *readmodel.DB {
	t.Helper()
	return reopen(t, prepared.NewDatabase(t))
}

var prepared = postgrestest.NewTemplate(func(ctx context.Context, dsn string) error {
	db, err := readmodel.Open(ctx, dsn, 1)
	if err != nil {
		return err
	}
	return errors.Join(prepareAll(ctx, db), db.Close())
})

func reopen(t testing.TB, dsn string) *readmodel.DB {
	t.Helper()
	db, err := readmodel.Open(withTimeout(t), dsn, 8)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close the database: %v", err)
		}
	})
	return db
}

// workshop applies batches to generations of one projection, without an event store.
type workshop struct {
	db         *readmodel.DB
	projection projection.Definition
	generation int
	resume     chan struct{}
	spare      bool // a schema with empty tables exists; creating one takes longer than most uses of it
}

func newWorkshop(t testing.TB, name string) *workshop {
	t.Helper()
	p, err := all().Named(name)
	if err != nil {
		t.Fatal(err)
	}
	return &workshop{db: openDatabase(t), projection: p, generation: generation.First, resume: make(chan struct{}, 1)}
}

// newWorkshops returns a workshop for each projection.
func newWorkshops(t testing.TB) []*workshop {
	t.Helper()
	var workshops []*workshop
	for _, p := range all() {
		workshops = append(workshops, newWorkshop(t, p.Name))
	}
	return workshops
}

// fatalf has the methods that *testing.T and *rapid.T share.
type fatalf interface {
	Helper()
	Fatalf(format string, args ...any)
}

// prepareAll creates the schemas of a database.
func prepareAll(ctx context.Context, db *readmodel.DB) error {
	return errors.Join(Prepare(ctx, db), db.Keys.Create(ctx))
}

// empty starts a new generation from the start of the log and returns a projector for it.
func (w *workshop) empty(ctx context.Context, t fatalf) *projector.Projector {
	t.Helper()
	w.startOver(ctx, t)
	return w.projector(ctx, t)
}

// startOver starts a new generation from the start of the log.
func (w *workshop) startOver(ctx context.Context, t fatalf) {
	t.Helper()
	w.generation++
	shape, err := readmodel.Shape(w.projection.Name)
	if err != nil {
		t.Fatalf("shape: %v", err)
	}
	err = w.db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		if err := w.makeTables(ctx, tx); err != nil {
			return err
		}
		_, err := tx.NewRaw(`DELETE FROM linkledger.generations WHERE name = ?0;
			INSERT INTO linkledger.generations (name, generation, serving, shape) VALUES (?0, ?1, true, ?2)`,
			w.projection.Name, w.generation, shape).Exec(ctx)
		return err
	})
	if err != nil {
		t.Fatalf("new generation: %v", err)
	}
}

// poisoning configures a projector to fail at one event, like that of a poisoned workshop.
func (w *workshop) poisoning(at eventstore.Position, panics bool) func(*projector.Config) {
	return func(cfg *projector.Config) { cfg.Definition = w.poisoned(at, panics).projection }
}

// inBulk configures whether a projector fills a generation that does not serve yet.
func inBulk(bulk bool) func(*projector.Config) {
	return func(cfg *projector.Config) { cfg.Building = bulk }
}

// projector returns a projector at the checkpoint, with the current epoch.
func (w *workshop) projector(ctx context.Context, t fatalf) *projector.Projector {
	t.Helper()
	return w.projectorWith(ctx, t, func(*projector.Config) {})
}

// projectorWith returns a projector whose configuration is modified by change.
func (w *workshop) projectorWith(ctx context.Context, t fatalf, change func(*projector.Config)) *projector.Projector {
	t.Helper()
	cfg := w.config(ctx, t)
	change(&cfg)
	p := projector.New(cfg)
	if _, err := p.Checkpoint(ctx); err != nil {
		t.Fatalf("checkpoint: %v", err)
	}
	return p
}

// config returns the configuration of a projector of the current generation.
func (w *workshop) config(ctx context.Context, t fatalf) projector.Config {
	t.Helper()
	return projector.Config{
		Definition: w.projection, DB: w.db,
		Status:   new(status.Registry).Entry(generation.Key{Name: w.projection.Name, Generation: w.generation}),
		OnCommit: func(string, uint64, []string) {}, Lose: func() {}, Lease: generation.DefaultLease,
		Stopped: make(chan struct{}, 1), Resume: w.resume,
		Logger: slog.New(slog.DiscardHandler),
		At:     generation.Checkpoint{Name: w.projection.Name, Generation: w.generation, Epoch: w.epoch(ctx, t)},
	}
}

// epoch returns the current epoch.
func (w *workshop) epoch(ctx context.Context, t fatalf) (epoch int64) {
	t.Helper()
	if err := w.db.NewRaw("SELECT epoch FROM linkledger.generations WHERE name = ? AND generation = ?",
		w.projection.Name, w.generation).Scan(ctx, &epoch); err != nil {
		t.Fatalf("epoch: %v", err)
	}
	return epoch
}

func (w *workshop) makeTables(ctx context.Context, tx bun.Tx) error {
	if !w.spare {
		return readmodel.CreateTables(ctx, tx, w.projection.Name, w.generation)
	}
	w.spare = false
	_, err := tx.NewRaw("ALTER SCHEMA spare RENAME TO ?", bun.Ident(w.schema())).Exec(ctx)
	return err
}

func (w *workshop) schema() string {
	return readmodel.GenerationSchema(w.projection.Name, w.generation)
}

// drop removes the current generation's tables.
func (w *workshop) drop(ctx context.Context, t fatalf) {
	t.Helper()
	if _, err := w.db.NewRaw("DROP SCHEMA ? CASCADE", bun.Ident(w.schema())).Exec(ctx); err != nil {
		t.Fatalf("drop %s: %v", w.schema(), err)
	}
}

// clear empties the current generation's tables for the next generation. No view may use them.
func (w *workshop) clear(ctx context.Context, t fatalf) {
	t.Helper()
	var statements string
	if err := w.db.NewRaw(`SELECT string_agg(format('DELETE FROM %I.%I', schemaname, tablename), ';') FROM pg_tables WHERE schemaname = ?`,
		w.schema()).Scan(ctx, &statements); err != nil {
		t.Fatalf("tables of %s: %v", w.schema(), err)
	}
	if _, err := w.db.NewRaw(statements+"; ALTER SCHEMA ? RENAME TO spare", bun.Ident(w.schema())).Exec(
		ctx,
	); err != nil {
		t.Fatalf("clear %s: %v", w.schema(), err)
	}
	w.spare = true
}

// dump returns all rows of the current generation as text.
func (w *workshop) dump(ctx context.Context, t fatalf) string {
	t.Helper()
	return dumpSchema(ctx, t, w.db, w.schema())
}

func dumpSchema(ctx context.Context, t fatalf, db *readmodel.DB, schema string) string {
	t.Helper()
	var tables []string
	if err := db.NewRaw("SELECT tablename FROM pg_tables WHERE schemaname = ? ORDER BY 1", schema).
		Scan(ctx, &tables); err != nil {
		t.Fatalf("tables of %s: %v", schema, err)
	}
	var dump string
	var dumpSb233 strings.Builder
	for _, table := range tables {
		var rows string
		if err := db.NewRaw("SELECT coalesce(string_agg(r::text, E'\n' ORDER BY r::text), '') FROM ?.? r WHERE ?",
			bun.Ident(schema), bun.Ident(table), readmodel.NonEmptyRow(table)).Scan(ctx, &rows); err != nil {
			t.Fatalf("dump %s.%s: %v", schema, table, err)
		}
		dumpSb233.WriteString(table + "\n" + rows + "\n")
	}
	dump += dumpSb233.String()
	return dump
}

// withNUL is a text as projections read it that v0.1.0 stored with NUL.
const withNUL = "nul:\ufffd"

// stored returns the body of an event as former versions have stored it, with control characters.
func stored(e events.Event) []byte {
	body, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	return bytes.ReplaceAll(body, []byte(withNUL), []byte(`nul:\u0000`))
}

// record appends the stored form of events of a stream to a log, at positions after its last one.
func record(
	log []eventstore.Recorded, stream string, revision eventstore.Revision, es ...events.Event,
) []eventstore.Recorded {
	for _, e := range es {
		body := stored(e)
		at := eventstore.Position{Commit: 100, Prepare: 100}
		if len(log) > 0 {
			last := log[len(log)-1].Position.Commit + uint64(len(body)) + 1
			at = eventstore.Position{Commit: last, Prepare: last}
		}
		log = append(log, eventstore.Recorded{
			ID: uuid.New(), Stream: stream, Revision: revision, Position: at, Type: e.EventType(),
			Time: noon.Add(time.Duration(len(log)) * time.Second), Data: body,
		})
		revision++
	}
	return log
}

var noon = time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)

// progressLog records the progress of the projections, for tests that wait for it.
type progressLog struct {
	mu      sync.Mutex
	at      map[string]uint64
	changed chan struct{}
}

func newProgressLog() *progressLog {
	return &progressLog{at: make(map[string]uint64), changed: make(chan struct{})}
}

func (l *progressLog) advance(projection string, position uint64, _ []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at[projection] = max(l.at[projection], position)
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *progressLog) wait(t testing.TB, position uint64, projections ...string) {
	t.Helper()
	ctx := withTimeout(t)
	for {
		l.mu.Lock()
		behind, changed := "", l.changed
		for _, p := range projections {
			if l.at[p] < position {
				behind = fmt.Sprintf("%s is at %d, not %d", p, l.at[p], position)
			}
		}
		l.mu.Unlock()
		if behind == "" {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatal(behind)
		}
	}
}
