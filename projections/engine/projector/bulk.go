package projector

import (
	"context"
	"fmt"

	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventlog"
	"linkledger/projections/engine/deadletter"
	"linkledger/projections/engine/failure"
	"linkledger/projections/projection"
	"linkledger/projections/sqlbatch"
)

// Bounds of the memory of a build, in bytes.
const (
	maxPendingBytes = 16 << 20 // of the events and rows of one transaction
	eventOverhead   = 48       // of an event, in addition to its contents
)

// bulkLoader fills a generation that no reader sees yet.
type bulkLoader struct {
	loader projection.Loader // nil: the projection has none
}

// begin prepares the loader for the next transaction.
func (b *bulkLoader) begin() {
	if b.loader != nil {
		b.loader.Begin()
	}
}

// pendingBytes returns the size of the cached rows that are not written yet, in bytes.
func (b *bulkLoader) pendingBytes() int {
	if b.loader == nil {
		return 0
	}
	return b.loader.PendingBytes()
}

func (p *Projector) newBulkLoader() *bulkLoader { return &bulkLoader{p.folds.Loader()} }

// loadInBulk begins a bulk load if the generation is being filled, unless the projector is looking
// for an event that cannot be applied. A projection that has no loader and buffers held events is
// not loaded in bulk, because the buffer holds more events for each transaction.
func (p *Projector) loadInBulk() {
	if p.phase != filling || p.bulk != nil || p.bisectUntil.After(p.at.Position) {
		return
	}
	if b := p.newBulkLoader(); b.loader != nil || !p.cfg.Definition.Buffered {
		p.bulk = b
	}
}

// bulkFold returns the fold for the next transaction of a build.
func (p *Projector) bulkFold() projection.Fold {
	if p.bulk != nil && p.bulk.loader != nil {
		return p.bulk.loader.Next()
	}
	return p.folds.Next()
}

// span is a part of the log that is written in one transaction.
type span struct {
	to     eventstore.Position
	events int
	// witness is the last event; zero: not known.
	witness eventlog.Identity
}

func (s *span) extend(recorded []eventstore.Recorded, to eventstore.Position) {
	s.to, s.events = to, s.events+len(recorded)
	if len(recorded) > 0 {
		s.witness = eventlog.IdentityOf(recorded[len(recorded)-1])
	}
}

// pendingBatch holds events that are folded but not yet sent to PostgreSQL.
type pendingBatch struct {
	span

	fold    projection.Fold
	letters []deadletter.Letter
	size    int // size of the events, in bytes
}

func (g *pendingBatch) add(
	recorded []eventstore.Recorded, decoded []projection.Event, to eventstore.Position,
) error {
	if err := projection.Each(decoded, g.fold.Apply); err != nil {
		return err
	}
	g.extend(recorded, to)
	for _, r := range recorded {
		g.size += eventOverhead + len(r.Data) + len(r.Metadata)
	}
	return nil
}

// inFlight is a transaction that PostgreSQL is executing.
type inFlight struct {
	span

	outcome chan error
	cancel  context.CancelFunc
}

// applyBulk adds events to the pending batch while PostgreSQL executes the previous one. The batch
// grows up to maxPendingBytes, because a row that many events change is then written once.
func (p *Projector) applyBulk(
	ctx context.Context, recorded []eventstore.Recorded, to eventstore.Position,
) error {
	if p.bulk.loader == nil {
		if err := p.Settle(ctx); err != nil {
			return err
		}
	}
	if err := p.addPending(ctx, recorded, to); err != nil {
		p.discardBulk(err, to)
		return err
	}
	if p.inFlight != nil && len(p.inFlight.outcome) == 0 &&
		p.pending.size+p.bulk.pendingBytes() < maxPendingBytes {
		return nil
	}
	if err := p.awaitWrite(ctx); err != nil {
		return err
	}
	return p.startWrite(ctx)
}

// Settle waits until all events that were added are committed.
func (p *Projector) Settle(ctx context.Context) error {
	if err := p.awaitWrite(ctx); err != nil || p.pending == nil {
		return err
	}
	if p.bulk == nil {
		return p.applyOrBisect(ctx, nil, p.pending.to)
	}
	if err := p.startWrite(ctx); err != nil {
		return err
	}
	return p.awaitWrite(ctx)
}

// abandon waits for the transaction that is in flight, and discards the pending batch.
func (p *Projector) abandon(ctx context.Context) {
	p.pending = nil
	_ = p.awaitWrite(ctx) // the checkpoint in the database shows the outcome
}

// awaitWrite waits for the transaction that is in flight.
func (p *Projector) awaitWrite(ctx context.Context) error {
	if p.inFlight == nil {
		return nil
	}
	defer p.inFlight.cancel()
	defer context.AfterFunc(ctx, p.inFlight.cancel)()
	err := <-p.inFlight.outcome
	if err == nil {
		p.afterCommit(p.inFlight.span, false, nil)
	} else {
		p.discardBulk(err, p.inFlight.to)
	}
	p.inFlight = nil
	return err
}

// discardBulk discards everything that depends on a failed batch. If the error may pass, a new bulk
// load begins. Otherwise events are not loaded in bulk until the position of the failure is passed,
// so that applyOrBisect finds the event that is at fault.
func (p *Projector) discardBulk(err error, to eventstore.Position) {
	if p.pending != nil && p.pending.to.After(to) {
		to = p.pending.to
	}
	p.pending, p.bulk = nil, nil
	if failure.Transient(err) {
		p.bulk = p.newBulkLoader() // the old one has cached rows that were not committed
		return
	}
	p.bisectUntil = to
}

// addPending folds a batch into the pending batch.
func (p *Projector) addPending(
	ctx context.Context, recorded []eventstore.Recorded, to eventstore.Position,
) (err error) {
	defer failure.Recovered(&err)
	decoded := p.sort(recorded)
	if p.pending == nil {
		p.pending = &pendingBatch{fold: p.bulkFold()}
	}
	folding, reading := p.pending.fold, sqlbatch.New(p.at.Schema())
	if folding.Read(reading, decoded.Events); reading.Len() > 0 {
		if err := p.Read(ctx, reading); err != nil {
			return err
		}
	}
	if err := p.pending.add(recorded, decoded.Events, to); err != nil {
		return err
	}
	p.pending.letters = append(p.pending.letters, decoded.Letters...)
	// If the dead letters are not committed, Checkpoint reads the parked streams anew.
	p.recordSetAside(ctx, decoded.Letters, decoded.Skipped)
	return nil
}

// startWrite sends the pending batch to PostgreSQL. The transaction runs while the next batches are
// folded.
func (p *Projector) startWrite(ctx context.Context) (err error) {
	to := p.pending.to
	defer func() {
		if err != nil {
			p.discardBulk(err, to)
		}
	}()
	defer failure.Recovered(&err)
	p.bulk.begin()
	statements := sqlbatch.New(p.at.Schema())
	p.pending.fold.Write(statements)
	deadletter.Insert(statements, p.at, p.pending.letters)
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // ctx ends with the message
	w := &inFlight{p.pending.span, make(chan error, 1), cancel}
	p.pending, p.inFlight = nil, w
	go func() { w.outcome <- p.writeBulk(ctx, statements, w.span) }()
	return nil
}

// Read sends queries without a transaction. If another process changes the tables meanwhile, it
// also moves the checkpoint, so writeBulk fails with ErrFenced.
func (p *Projector) Read(ctx context.Context, reading *sqlbatch.Batch) error {
	conn, err := p.cfg.DB.Writers.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("build %s: %w", p.cfg.Definition.Name, err)
	}
	defer conn.Release()
	if err := reading.Send(ctx, conn.Conn()); err != nil {
		return fmt.Errorf("read what a batch of %s changes: %w", p.cfg.Definition.Name, err)
	}
	return nil
}

// writeBulk moves the checkpoint and writes the changes of a batch in one transaction.
//
// The checkpoint moves first. Its update fails with ErrFenced if another process owns the
// generation. Otherwise the update locks the row against other owners until the commit.
func (p *Projector) writeBulk(
	ctx context.Context, changes *sqlbatch.Batch, taken span,
) (err error) {
	defer failure.Recovered(&err)
	conn, err := p.cfg.DB.Writers.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("build %s: %w", p.cfg.Definition.Name, err)
	}
	defer conn.Release()
	defer func() {
		if err != nil {
			sqlbatch.Rollback(ctx, conn.Conn())
		}
	}()
	var serving bool
	opening := sqlbatch.New(p.at.Schema())
	opening.Begin()
	p.at.Advance(opening, taken.to, taken.witness, p.cfg.Lease, &serving)
	if err := opening.Send(ctx, conn.Conn()); err != nil {
		return fmt.Errorf("build %s: %w", p.cfg.Definition.Name, err)
	}
	changes.Commit()
	ctx, cancel := sqlbatch.Outliving(ctx)
	defer cancel()
	if err := changes.Send(ctx, conn.Conn()); err != nil {
		return fmt.Errorf("write a batch of %s: %w", p.cfg.Definition.Name, err)
	}
	return nil
}
