package projector

import (
	"cmp"
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
	"linkledger/events/eventstore/eventlog"
	"linkledger/events/eventstore/subscription"
	"linkledger/projections/engine/deadletter"
	"linkledger/projections/engine/generation"
	"linkledger/projections/engine/status"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
	"linkledger/robots"
)

// Config configures a Projector.
type Config struct {
	Definition projection.Definition
	At         generation.Checkpoint // as returned by generation.Acquire
	Building   bool                  // the generation has not served yet
	Judgement  *robots.Judgement     // of clicks; nil: they keep their recorded verdicts
	DB         *readmodel.DB
	Store      *eventstore.Store
	// Identify returns the event at a position of the log. It is called when the checkpoint moves
	// to a position without applying an event, and the event becomes the witness of the checkpoint.
	// If Identify is nil, the witness stays the same. See generation.Checkpoint.
	Identify func(context.Context, eventstore.Position) (eventlog.Identity, error)
	Status   *status.Entry
	// OnCommit is called after each commit of a generation that serves. In the service this is
	// progress.Waiter.Committed.
	OnCommit func(projection string, position uint64, changed []string)
	Lease    time.Duration // each batch extends the lease by this
	// Lose is called when another process owns the generation. It ends the leaseholder.
	Lose func()
	// MaxParked is how many streams may have events that are set aside. 0 means DefaultMaxParked,
	// and a negative number means none.
	MaxParked int
	Stopped   chan<- struct{} // receives a value when the projection has stopped
	Resume    <-chan struct{} // a value makes a stopped projection try again
	Tracer    trace.Tracer    // nil: batches are not traced
	Logger    *slog.Logger
}

// Projector applies the batches of one subscription to the tables of one generation that this
// process owns.
type Projector struct {
	cfg   Config
	folds projection.Folds

	mu     sync.Mutex
	at     generation.Checkpoint // as last read or committed; the database may be ahead
	parked map[string]struct{}   // streams that have dead letters
	// identified is the event at the last position that was reached without applying an event.
	identified eventlog.Identity
	// discarded has the events that an operator has given up.
	discarded deadletter.Discarded
	retryAt   time.Time // of a stopped projection; zero: not stopped

	phase       phase
	bulk        *bulkLoader         // in the phase filling; nil: no bulk load
	pending     *pendingBatch       // nil: no pending events
	bisectUntil eventstore.Position // nothing is buffered up to here
	inFlight    *inFlight           // nil: no transaction is running
	announced   bool                // readers were notified that all keys may have changed

	caughtUp atomic.Bool // with the log, at least once
}

// New returns a projector that has not read its checkpoint. The subscription MUST call Checkpoint
// before it sends batches.
func New(cfg Config) *Projector {
	cfg.MaxParked = cmp.Or(cfg.MaxParked, DefaultMaxParked)
	p := &Projector{
		cfg: cfg, at: cfg.At, phase: serving, folds: cfg.Definition.Folds(projection.Given{
			Master: cfg.DB.Keys.Master, Judgement: cfg.Judgement,
		}),
	}
	if cfg.Building {
		p.phase = filling
	}
	p.loadInBulk()
	return p
}

// HasCaughtUp reports whether the projector has caught up with the log at least once.
func (p *Projector) HasCaughtUp() bool { return p.caughtUp.Load() }

// Position returns the checkpoint as last read or committed.
func (p *Projector) Position() eventstore.Position {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.at.Position
}

// Checkpoint returns the checkpoint from which the subscription starts. It waits while the
// projection is stopped.
func (p *Projector) Checkpoint(ctx context.Context) (generation.Checkpoint, error) {
	if err := p.waitIfStopped(ctx); err != nil {
		return generation.Checkpoint{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.abandon(ctx)
	at, err := p.at.Reread(ctx, p.cfg.DB)
	if errors.Is(err, generation.ErrFenced) {
		p.cfg.Lose()
	}
	if err != nil {
		return generation.Checkpoint{}, err
	}
	if p.parked, err = deadletter.Parked(ctx, p.cfg.DB, at); err != nil {
		return generation.Checkpoint{}, err
	}
	if p.discarded, err = deadletter.DiscardedBy(ctx, p.cfg.DB, at.Name); err != nil {
		return generation.Checkpoint{}, err
	}
	p.at = at
	p.cfg.Status.SetPosition(at.Position)
	p.cfg.Status.SetParked(len(p.parked))
	return at, nil
}

// End waits for the transaction that is in flight.
func (p *Projector) End(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.abandon(ctx)
}

// Handle applies one message of the subscription.
func (p *Projector) Handle(m *message.Message) error {
	batch := subscription.BatchOf(m)
	if p.cfg.Tracer == nil || len(batch.Events) == 0 {
		return p.Apply(m.Context(), batch)
	}
	ctx, traceSpan := p.cfg.Tracer.Start(m.Context(), "project "+p.cfg.Definition.Name,
		trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithLinks(eventstore.TraceLinks(batch.Events)...), trace.WithAttributes(
			attribute.Int("linkledger.events", len(batch.Events)),
			// Held events may be committed with later ones.
			attribute.Bool("linkledger.held", batch.Held),
			//nolint:gosec // positions are below the largest int64
			attribute.Int64("linkledger.position", int64(batch.Position.Commit)),
		))
	defer traceSpan.End()
	err := p.Apply(ctx, batch)
	if err != nil {
		traceSpan.SetStatus(codes.Error, err.Error())
	}
	return err
}

// Apply applies a batch of the subscription, and completes a build that has caught up.
func (p *Projector) Apply(ctx context.Context, batch subscription.Batch) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	recorded := p.unapplied(batch.Events)
	if len(batch.Events) == 0 && batch.Position.After(p.at.Position) && p.cfg.Identify != nil {
		// Without an answer, the witness of the checkpoint stays the same.
		p.identified, _ = p.cfg.Identify(ctx, batch.Position)
	}
	if len(recorded) > 0 || batch.Position.After(p.at.Position) {
		if err := p.applyParts(ctx, recorded, batch.Position, batch.Held); err != nil {
			return err
		}
	}
	if p.phase != serving && !batch.Held {
		if err := p.build(ctx, batch.CaughtUp); err != nil {
			return err
		}
	}
	if batch.CaughtUp {
		p.caughtUp.Store(true)
	}
	return nil
}

// applyParts applies a batch in the parts that projection.Cut makes. An event that is applied alone
// may change rows that the bulk loader has cached, so the loader is replaced after it.
func (p *Projector) applyParts(
	ctx context.Context, recorded []eventstore.Recorded, to eventstore.Position, held bool,
) error {
	parts := projection.Cut(
		p.cfg.Definition, recorded, func(r eventstore.Recorded) eventstore.Recorded { return r },
	)
	for i, part := range parts {
		upTo := to
		if i < len(parts)-1 {
			upTo = part[len(part)-1].Position
		}
		if len(part) == 0 || !p.cfg.Definition.IsAlone(part[0]) {
			if err := p.applyPart(ctx, part, upTo, held); err != nil {
				return err
			}
			continue
		}
		if err := p.Settle(ctx); err != nil {
			return err
		}
		if err := p.applyOrBisect(ctx, part, upTo); err != nil {
			return err
		}
		if p.bulk != nil {
			p.bulk = p.newBulkLoader()
		}
	}
	return nil
}

// applyPart applies events, or adds them to the pending batch, which Settle commits. It adds events
// of a Held batch and events of a build, because no reader waits for them.
func (p *Projector) applyPart(
	ctx context.Context, recorded []eventstore.Recorded, to eventstore.Position, held bool,
) error {
	p.loadInBulk()
	if p.bulk != nil && len(recorded) > 0 {
		return p.applyBulk(ctx, recorded, to)
	}
	if p.bulk != nil {
		if err := p.Settle(ctx); err != nil {
			return err
		}
	} else if held && p.mayBuffer() {
		return p.buffer(ctx, recorded, to)
	}
	return p.applyOrBisect(ctx, recorded, to)
}

// unapplied returns the events that were not applied, buffered or sent to PostgreSQL before.
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
