package projector

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"linkledger/events/eventstore"
	"linkledger/events/eventstore/subscription"
	"linkledger/projections/engine/deadletter"
	"linkledger/projections/engine/generation"
	"linkledger/projections/engine/status"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
)

// Config says which generation a projector brings up to date, and how.
type Config struct {
	Definition projection.Definition
	At         generation.Checkpoint // as this process has acquired it
	Building   bool                  // the generation has yet to take over for the first time
	DB         *readmodel.DB
	Store      *eventstore.Store
	Status     *status.Entry
	// OnCommit learns of each commit of a generation that serves.
	OnCommit func(projection string, position uint64, changed []string)
	Lease    time.Duration // that each batch extends
	Lose     func()        // is called when another process owns the generation
	Policy   Policy
	Stopped  chan<- struct{} // gets a value when the projection has stopped
	Resume   <-chan struct{} // a stopped projection tries again at a value
	Tracer   trace.Tracer    // nil: batches are not traced
	Logger   *slog.Logger
}

// Projector brings the batches of one subscription into the tables of one generation that this
// process owns.
type Projector struct {
	projection projection.Definition
	folds      projection.Folds
	db         *readmodel.DB
	status     *status.Entry
	// for the generation that serves
	onCommit func(projection string, position uint64, changed []string)
	lease    time.Duration
	lose     func() // ends the term, because another process owns the generation
	policy   Policy
	stop     chan<- struct{} // signals that the projection has stopped
	resume   <-chan struct{} // a stopped projection is to try again

	store  *eventstore.Store
	tracer trace.Tracer // nil: batches are not traced
	logger *slog.Logger

	mu      sync.Mutex
	at      generation.Checkpoint // as last read or committed; the database has the last word
	parked  map[string]struct{}   // streams that have dead letters
	retryAt time.Time             // of a stopped projection; zero: it goes on

	building    bool                // has yet to take over for the first time
	complete    bool                // and is no longer filled in bulk
	bulk        *bulkLoader         // nil: batches are applied as those of a complete generation are
	pending     *pendingBatch       // nil: nothing
	bisectUntil eventstore.Position // up to here nothing is held
	inFlight    *inFlight           // nil: nothing
	announced   bool                // readers know that this process owns the generation that serves

	caughtUp atomic.Bool // with the log, once
}

// New returns a projector that has not begun: its subscription asks for its checkpoint first.
func New(cfg Config) *Projector {
	p := &Projector{
		projection: cfg.Definition, folds: cfg.Definition.Folds(cfg.DB.MasterKey), db: cfg.DB,
		status: cfg.Status, onCommit: cfg.OnCommit,
		lease: cfg.Lease, lose: cfg.Lose, policy: cfg.Policy, stop: cfg.Stopped, resume: cfg.Resume,
		at:    cfg.At,
		store: cfg.Store, tracer: cfg.Tracer, logger: cfg.Logger, building: cfg.Building,
	}
	if p.building {
		// what holds gathers more by itself
		if fill := p.newBulkLoader(); fill.loader != nil || !p.projection.Held {
			p.bulk = fill
		}
	}
	return p
}

// HasCaughtUp reports whether the projector has caught up with the log once.
func (p *Projector) HasCaughtUp() bool { return p.caughtUp.Load() }

// Position returns the checkpoint as last read or committed.
func (p *Projector) Position() eventstore.Position {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.at.Position
}

// Checkpoint reads where to go on, for the subscriber. A stopped projection waits here.
func (p *Projector) Checkpoint(ctx context.Context) (eventstore.Position, error) {
	if err := p.waitIfStopped(ctx); err != nil {
		return eventstore.Position{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.abandon(ctx)
	at, err := p.at.Reread(ctx, p.db)
	if errors.Is(err, generation.ErrFenced) {
		p.lose()
	}
	if err != nil {
		return eventstore.Position{}, err
	}
	if p.parked, err = deadletter.Parked(ctx, p.db, at); err != nil {
		return eventstore.Position{}, err
	}
	p.at = at
	p.status.Reached(at.Position)
	return at.Position, nil
}

// End waits for what is under way.
func (p *Projector) End(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.abandon(ctx)
}

// Handle applies one message of the subscriber.
func (p *Projector) Handle(m *message.Message) error {
	batch := subscription.BatchOf(m)
	if p.tracer == nil || len(batch.Events) == 0 {
		return p.Apply(m.Context(), batch)
	}
	ctx, span := p.tracer.Start(m.Context(), "project "+p.projection.Name, trace.WithSpanKind(
		trace.SpanKindConsumer,
	),
		trace.WithLinks(eventstore.TraceLinks(batch.Events)...), trace.WithAttributes(
			attribute.Int("linkledger.events", len(batch.Events)),
			// they are committed with later ones
			attribute.Bool("linkledger.held", batch.Held),
			//nolint:gosec // positions are below the largest int64
			attribute.Int64("linkledger.position", int64(batch.Position.Commit)),
		))
	defer span.End()
	err := p.Apply(ctx, batch)
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	return err
}

// Apply takes in a batch of the subscription.
func (p *Projector) Apply(ctx context.Context, batch subscription.Batch) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	recorded := p.unapplied(batch.Events)
	if len(recorded) > 0 || batch.Position.After(p.at.Position) {
		if err := p.applyParts(ctx, recorded, batch.Position, batch.Held); err != nil {
			return err
		}
	}
	if p.building && !batch.Held {
		if err := p.build(ctx, batch.CaughtUp); err != nil {
			return err
		}
	}
	if batch.CaughtUp {
		p.caughtUp.Store(true)
	}
	return nil
}

// unapplied leaves out what was taken in already.
func (p *Projector) unapplied(recorded []eventstore.Recorded) []eventstore.Recorded {
	taken := p.at.Position
	switch {
	case p.pending != nil:
		taken = p.pending.to
	case p.inFlight != nil:
		taken = p.inFlight.to
	}
	for i, r := range recorded {
		if r.Position.After(taken) {
			return recorded[i:]
		}
	}
	return nil
}

// commit applies what is held, and events after it, and moves the checkpoint to a position, in one
// transaction.
func (p *Projector) commit(
	ctx context.Context, recorded []eventstore.Recorded, to eventstore.Position,
) (err error) {
	defer recovered(&err)
	sorted := p.decode(recorded)
	facts := sorted.events
	var taken span
	folding := p.folds.Next()
	if p.pending != nil {
		taken, folding = p.pending.span, p.pending.fold
		p.pending = nil
	}
	read := func(s *sqlbatch.Batch) { folding.Read(s, facts) }
	serving, changed, err := p.transact(ctx, to, read, func(
		s *sqlbatch.Batch, _ bool,
	) ([]string, error) {
		if err := projection.Each(facts, folding.Apply); err != nil {
			return nil, err
		}
		deadletter.Insert(s, p.at, sorted.letters)
		return folding.Write(s), nil
	})
	if err != nil {
		return err
	}
	p.recordSetAside(ctx, sorted.letters, sorted.skipped)
	taken.extend(recorded, to)
	p.afterCommit(taken, serving, changed)
	return nil
}

// afterCommit notes and tells what was committed.
func (p *Projector) afterCommit(taken span, serving bool, changed []string) {
	p.at.Position = taken.to
	p.status.Applied(taken.to, taken.events, taken.last)
	if serving {
		if !p.announced { // what this generation took in before it served was announced by nobody
			p.announced = true
			changed = append(changed, readmodel.Everything)
		}
		p.onCommit(p.projection.Name, taken.to.Commit, changed)
	}
}
