package projections

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
	"linkledger/projections/readmodel"
)

// projector brings the batches of one subscription into the tables of one generation that this process owns.
type projector struct {
	projection
	db       *readmodel.DB
	status   *statusLine
	onCommit func(projection string, position uint64, changed []string) // for the generation that serves
	lease    time.Duration
	lose     func() // ends the term, because another process owns the generation
	policy   Policy
	stop     chan<- struct{} // signals that the projection has stopped
	resume   <-chan struct{} // a stopped projection is to try again

	id     checkpoint // as it was at first; name, generation and epoch never change
	store  *eventstore.Store
	tracer trace.Tracer // nil: batches are not traced
	logger *slog.Logger

	mu      sync.Mutex
	at      checkpoint          // as last read or committed; the database has the last word
	notes   noteKeys            // that are known
	parked  map[string]struct{} // streams that have dead letters
	retryAt time.Time           // of a stopped projection; zero: it goes on

	building bool                // has yet to take over for the first time
	complete bool                // and is no longer filled in bulk
	bulk     *bulk               // nil: batches are applied as those of a complete generation are
	gathered *gathered           // nil: nothing
	apart    eventstore.Position // up to here nothing is held
	writing  *writing            // nil: nothing
	told     bool                // readers know that this process owns the generation that serves

	caughtUp atomic.Bool // with the log, once
}

// checkpoint reads where to go on, for the subscriber. A stopped projection waits here.
func (p *projector) checkpoint(ctx context.Context) (eventstore.Position, error) {
	if err := p.rest(ctx); err != nil {
		return eventstore.Position{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.abandon(ctx)
	at, err := p.at.reread(ctx, p.db)
	if errors.Is(err, ErrFenced) {
		p.lose()
	}
	if err != nil {
		return eventstore.Position{}, err
	}
	if p.parked, err = parkedStreams(ctx, p.db, at); err != nil {
		return eventstore.Position{}, err
	}
	p.at = at
	p.status.reached(at.position)
	return at.position, nil
}

// end waits for what is under way.
func (p *projector) end(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.abandon(ctx)
}

// handle applies one message of the subscriber.
func (p *projector) handle(m *message.Message) error {
	batch := subscription.BatchOf(m)
	if p.tracer == nil || len(batch.Events) == 0 {
		return p.applyBatch(m.Context(), batch)
	}
	ctx, span := p.tracer.Start(m.Context(), "project "+p.name, trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithLinks(eventstore.TraceLinks(batch.Events)...), trace.WithAttributes(
			attribute.Int("linkledger.events", len(batch.Events)),
			attribute.Bool("linkledger.held", batch.Held),                        // they are committed with later ones
			attribute.Int64("linkledger.position", int64(batch.Position.Commit)), //nolint:gosec // positions are below the largest int64
		))
	defer span.End()
	err := p.applyBatch(ctx, batch)
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	return err
}

func (p *projector) applyBatch(ctx context.Context, batch subscription.Batch) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	recorded := p.fresh(batch.Events)
	if len(recorded) > 0 || batch.Position.After(p.at.position) {
		if err := p.take(ctx, recorded, batch.Position, batch.Held); err != nil {
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

// fresh leaves out what was taken in already.
func (p *projector) fresh(recorded []eventstore.Recorded) []eventstore.Recorded {
	taken := p.at.position
	switch {
	case p.gathered != nil:
		taken = p.gathered.to
	case p.writing != nil:
		taken = p.writing.to
	}
	for i, r := range recorded {
		if r.Position.After(taken) {
			return recorded[i:]
		}
	}
	return nil
}

// commit applies what is held, and events after it, and moves the checkpoint to a position, in one transaction.
func (p *projector) commit(ctx context.Context, recorded []eventstore.Recorded, to eventstore.Position) (err error) {
	defer recovered(&err)
	sorted := p.sortOut(recorded)
	facts := sorted.facts
	var taken stretch
	folding := p.fold()
	if p.gathered != nil {
		taken, folding = p.gathered.stretch, p.gathered.fold
		p.gathered = nil
	}
	read := func(s *statements) { folding.read(s, facts) }
	serving, changed, err := p.transact(ctx, to, read, func(s *statements, _ bool) ([]string, error) {
		if err := foldEach(facts, folding.step); err != nil {
			return nil, err
		}
		p.insertLetters(s, sorted.letters)
		return folding.write(s), nil
	})
	if err != nil {
		return err
	}
	p.note(ctx, sorted.letters, sorted.skipped)
	taken.extend(recorded, to)
	p.reached(taken, serving, changed)
	return nil
}

// reached notes and tells what was committed.
func (p *projector) reached(taken stretch, serving bool, changed []string) {
	p.at.position = taken.to
	p.status.applied(taken)
	if serving {
		if !p.told { // what this generation took in before it served was announced by nobody
			p.told = true
			changed = append(changed, readmodel.Everything)
		}
		p.onCommit(p.name, taken.to.Commit, changed)
	}
}
