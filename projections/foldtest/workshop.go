package foldtest

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"

	"github.com/uptrace/bun"

	"linkledger/events/eventstore"
	"linkledger/events/eventstore/subscription"
	"linkledger/projections"
	"linkledger/projections/engine/generation"
	"linkledger/projections/engine/projector"
	"linkledger/projections/engine/status"
	"linkledger/projections/projection"
	"linkledger/projections/projectionstest"
	"linkledger/projections/readmodel"
)

// Workshop applies batches to generations of one projection, without an event store.
type Workshop struct {
	DB         *readmodel.DB
	Projection projection.Definition
	Generation int
	Resume     chan struct{} // makes a stopped projector try again

	spare bool // the schema "spare" has empty tables for the next generation, which saves time
}

// New returns a workshop for a projection. The workshop has a database of its own.
func New(t testing.TB, name string) *Workshop {
	t.Helper()
	return NewAt(t, projectionstest.Open(t), name)
}

// NewAt returns a workshop for a projection in a prepared database.
func NewAt(t testing.TB, db *readmodel.DB, name string) *Workshop {
	t.Helper()
	p, err := projections.All().Named(name)
	if err != nil {
		t.Fatal(err)
	}
	return &Workshop{
		DB: db, Projection: p, Generation: generation.First, Resume: make(chan struct{}, 1),
	}
}

// NewEach returns a workshop for each projection.
func NewEach(t testing.TB) []*Workshop {
	t.Helper()
	var workshops []*Workshop
	for _, name := range projections.Names() {
		workshops = append(workshops, New(t, name))
	}
	return workshops
}

// Empty starts a new generation from the start of the log and returns a projector for it.
func (w *Workshop) Empty(ctx context.Context, t projectionstest.T) *projector.Projector {
	t.Helper()
	w.StartOver(ctx, t)
	return w.Projector(ctx, t)
}

// StartOver starts a new generation from the start of the log.
func (w *Workshop) StartOver(ctx context.Context, t projectionstest.T) {
	t.Helper()
	w.Generation++
	shape, err := readmodel.Shape(w.Projection.Name)
	if err != nil {
		t.Fatalf("shape: %v", err)
	}
	err = w.DB.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		if err := w.makeTables(ctx, tx); err != nil {
			return err
		}
		_, err := tx.NewRaw(`DELETE FROM linkledger.generations WHERE name = ?0;
			INSERT INTO linkledger.generations (name, generation, serving, shape)
			VALUES (?0, ?1, true, ?2)`, w.Projection.Name, w.Generation, shape).Exec(ctx)
		return err
	})
	if err != nil {
		t.Fatalf("new generation: %v", err)
	}
}

func (w *Workshop) makeTables(ctx context.Context, tx bun.Tx) error {
	if !w.spare {
		return readmodel.CreateTables(ctx, tx, w.Projection.Name, w.Generation)
	}
	w.spare = false
	_, err := tx.NewRaw("ALTER SCHEMA spare RENAME TO ?", bun.Ident(w.Schema())).Exec(ctx)
	return err
}

// InBulk configures whether a projector works in bulk, which it does to fill a generation that does
// not serve yet.
func InBulk(bulk bool) func(*projector.Config) {
	return func(cfg *projector.Config) { cfg.Building = bulk }
}

// Projector returns a projector at the checkpoint, with the current epoch. Each of changes modifies
// its configuration.
func (w *Workshop) Projector(
	ctx context.Context, t projectionstest.T, changes ...func(*projector.Config),
) *projector.Projector {
	t.Helper()
	cfg := w.Config(ctx, t)
	for _, change := range changes {
		change(&cfg)
	}
	p := projector.New(cfg)
	if _, err := p.Checkpoint(ctx); err != nil {
		t.Fatalf("checkpoint: %v", err)
	}
	return p
}

// Config returns the configuration of a projector of the current generation.
func (w *Workshop) Config(ctx context.Context, t projectionstest.T) projector.Config {
	t.Helper()
	at := generation.Checkpoint{Name: w.Projection.Name, Generation: w.Generation}
	if err := w.DB.NewRaw("SELECT epoch FROM linkledger.generations WHERE name = ? AND generation = ?",
		w.Projection.Name, w.Generation).Scan(ctx, &at.Epoch); err != nil {
		t.Fatalf("epoch: %v", err)
	}
	return projector.Config{
		Definition: w.Projection, DB: w.DB, At: at,
		Status: new(status.Registry).Entry(
			generation.Key{Name: w.Projection.Name, Generation: w.Generation},
		),
		OnCommit: func(string, uint64, []string) {}, Lose: func() {},
		Lease: generation.DefaultLease, Stopped: make(chan struct{}, 1), Resume: w.Resume,
		Logger: slog.New(slog.DiscardHandler),
	}
}

// Schema returns the schema of the current generation.
func (w *Workshop) Schema() string {
	return readmodel.GenerationSchema(w.Projection.Name, w.Generation)
}

// Rows returns the database, in which ?schema stands for the current generation.
func (w *Workshop) Rows() *bun.DB { return w.DB.WithNamedArg("schema", bun.Ident(w.Schema())) }

// Drop removes the current generation's tables.
func (w *Workshop) Drop(ctx context.Context, t projectionstest.T) {
	t.Helper()
	if _, err := w.DB.NewRaw("DROP SCHEMA ? CASCADE", bun.Ident(w.Schema())).Exec(ctx); err != nil {
		t.Fatalf("drop %s: %v", w.Schema(), err)
	}
}

// Clear empties the current generation's tables, so that the next generation can have them. No view
// may use these tables.
func (w *Workshop) Clear(ctx context.Context, t projectionstest.T) {
	t.Helper()
	var statements string
	if err := w.DB.NewRaw(
		`SELECT string_agg(format('DELETE FROM %I.%I', schemaname, tablename), ';')
		FROM pg_tables WHERE schemaname = ?`, w.Schema(),
	).Scan(ctx, &statements); err != nil {
		t.Fatalf("tables of %s: %v", w.Schema(), err)
	}
	if _, err := w.DB.NewRaw(
		statements+"; ALTER SCHEMA ? RENAME TO spare", bun.Ident(w.Schema()),
	).Exec(ctx); err != nil {
		t.Fatalf("clear %s: %v", w.Schema(), err)
	}
	w.spare = true
}

// Dump returns all rows of the current generation as text.
func (w *Workshop) Dump(ctx context.Context, t projectionstest.T) string {
	t.Helper()
	return projectionstest.Dump(ctx, t, w.DB, w.Schema())
}

// Followed returns the events of the log that the projection's subscription would deliver.
func (w *Workshop) Followed(log []eventstore.Recorded) []eventstore.Recorded {
	return slices.DeleteFunc(slices.Clone(log), func(r eventstore.Recorded) bool {
		return !w.Projection.Filter.Matches(r)
	})
}

// BatchOf returns the batch of events.
func BatchOf(recorded []eventstore.Recorded) subscription.Batch {
	batch := subscription.Batch{Events: recorded}
	if len(recorded) > 0 {
		batch.Position = recorded[len(recorded)-1].Position
	}
	return batch
}

// Apply applies events as one batch, which must succeed.
func Apply(ctx context.Context, t projectionstest.T, p *projector.Projector, batch []eventstore.Recorded) {
	t.Helper()
	if err := errors.Join(p.Apply(ctx, BatchOf(batch)), p.Settle(ctx)); err != nil {
		t.Fatalf("apply a batch of %d: %v", len(batch), err)
	}
}

// Deliver delivers a log as a subscription does. After an error it delivers the log again, from the
// checkpoint.
func Deliver(ctx context.Context, t projectionstest.T, p *projector.Projector, log []eventstore.Recorded) {
	t.Helper()
	var err error
	for range 3 {
		if _, err := p.Checkpoint(ctx); err != nil {
			t.Fatalf("checkpoint: %v", err)
		}
		if err = errors.Join(p.Apply(ctx, BatchOf(log)), p.Settle(ctx)); err == nil {
			return
		}
	}
	t.Fatalf("deliver %d events: %v", len(log), err)
}
