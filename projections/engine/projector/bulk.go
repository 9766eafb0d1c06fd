package projector

import (
	"context"
	"fmt"
	"time"

	"linkledger/events/eventstore"
	"linkledger/projections/engine/deadletter"
	"linkledger/projections/projection"
	"linkledger/projections/sqlbatch"
)

// Bounds of what a build holds, in bytes.
const (
	maxPendingBytes = 16 << 20 // what one transaction writes
	eventOverhead   = 48       // what a fact takes beside its contents
)

// bulkLoader is how a generation is filled that nobody reads yet.
type bulkLoader struct {
	loader projection.Loader // nil: the projection has none
}

// begin makes room for what the next transaction writes.
func (b *bulkLoader) begin() {
	if b.loader != nil {
		b.loader.Begin()
	}
}

// pendingBytes is how many bytes the rows take that are to be written, as far as they are known.
func (b *bulkLoader) pendingBytes() int {
	if b.loader == nil {
		return 0
	}
	return b.loader.Touched()
}

func (p *Projector) newBulkLoader() *bulkLoader { return &bulkLoader{p.folds.Loader()} }

// bulkFold returns the fold of the next transaction of a build.
func (p *Projector) bulkFold() projection.Fold {
	if p.bulk != nil && p.bulk.loader != nil {
		return p.bulk.loader.Next()
	}
	return p.folds.Next()
}

// span is a part of the log that goes into the tables together.
type span struct {
	to     eventstore.Position
	events int
	last   time.Time // when the last of them was recorded; zero: there are none
}

func (s *span) extend(recorded []eventstore.Recorded, to eventstore.Position) {
	s.to, s.events = to, s.events+len(recorded)
	if len(recorded) > 0 {
		s.last = recorded[len(recorded)-1].Time
	}
}

// pendingBatch is what was folded since PostgreSQL was given something to write.
type pendingBatch struct {
	span

	fold    projection.Fold
	letters []deadletter.Letter
	size    int // of the events, in bytes
}

func (g *pendingBatch) add(
	recorded []eventstore.Recorded, facts []projection.Event, to eventstore.Position,
) error {
	if err := projection.Each(facts, g.fold.Apply); err != nil {
		return err
	}
	g.extend(recorded, to)
	for _, r := range recorded {
		g.size += eventOverhead + len(r.Data) + len(r.Metadata)
	}
	return nil
}

// inFlight is what PostgreSQL takes in.
type inFlight struct {
	span

	outcome chan error
	cancel  context.CancelFunc
}

// applyParts brings a batch into the tables, in parts. After an event that is applied alone a build knows
// no rows any more.
func (p *Projector) applyParts(
	ctx context.Context, recorded []eventstore.Recorded, to eventstore.Position, held bool,
) error {
	parts := projection.Cut(
		p.projection, recorded, func(r eventstore.Recorded) eventstore.Recorded { return r },
	)
	for i, part := range parts {
		upTo := to
		if i < len(parts)-1 {
			upTo = part[len(part)-1].Position
		}
		if len(part) == 0 || p.projection.Alone == nil || !p.projection.Alone(part[0]) {
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

// applyPart brings events into the tables, or gathers them. Nobody waits for those that are held,
// and for none of a build; settle does.
func (p *Projector) applyPart(
	ctx context.Context, recorded []eventstore.Recorded, to eventstore.Position, held bool,
) error {
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

// applyBulk gathers events while PostgreSQL takes in what came before, as far as there is room: a
// row that many of them change is written once.
func (p *Projector) applyBulk(
	ctx context.Context, recorded []eventstore.Recorded, to eventstore.Position,
) error {
	if p.bulk.loader == nil {
		if err := p.Settle(ctx); err != nil {
			return err
		}
	}
	if err := p.addPending(ctx, recorded, to); err != nil {
		p.discardBulk(err)
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

// Settle waits until everything that was taken is in the tables.
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

// abandon waits for what PostgreSQL takes in, and forgets what it was not given yet.
func (p *Projector) abandon(ctx context.Context) {
	p.pending = nil
	_ = p.awaitWrite(ctx) // what came of it the database knows
}

// awaitWrite waits for what PostgreSQL takes in.
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
		p.discardBulk(err)
	}
	p.inFlight = nil
	return err
}

// discardBulk forgets what follows from something that failed. Where it can't be applied for what is in
// it, nothing is gathered in bulk any more, so that the event is found.
func (p *Projector) discardBulk(err error) {
	p.pending, p.bulk = nil, nil
	if Transient(err) {
		p.bulk = p.newBulkLoader() // the old one knows what never came to be
	}
}

// addPending folds a batch into what is to be written next.
func (p *Projector) addPending(
	ctx context.Context, recorded []eventstore.Recorded, to eventstore.Position,
) (err error) {
	defer recovered(&err)
	sorted := p.decode(recorded)
	facts := sorted.events
	if p.pending == nil {
		p.pending = &pendingBatch{fold: p.bulkFold()}
	}
	folding, reading := p.pending.fold, sqlbatch.New(p.at.Schema())
	if folding.Read(reading, facts); reading.Len() > 0 {
		if err := p.Read(ctx, reading); err != nil {
			return err
		}
	}
	if err := p.pending.add(recorded, facts, to); err != nil {
		return err
	}
	p.pending.letters = append(p.pending.letters, sorted.letters...)
	// where they do not get into the table, checkpoint forgets them
	p.recordSetAside(ctx, sorted.letters, sorted.skipped)
	return nil
}

// startWrite has PostgreSQL take in what was gathered, while the next batches are.
func (p *Projector) startWrite(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			p.discardBulk(err)
		}
	}()
	defer recovered(&err)
	p.bulk.begin()
	statements := sqlbatch.New(p.at.Schema())
	p.pending.fold.Write(statements)
	deadletter.Insert(statements, p.at, p.pending.letters)
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // which ends with the message
	w := &inFlight{p.pending.span, make(chan error, 1), cancel}
	p.pending, p.inFlight = nil, w
	go func() { w.outcome <- p.writeBulk(ctx, statements, w.to) }()
	return nil
}

// Read asks without a transaction: whoever else changes the tables moves the checkpoint too, and
// writeBulk notices.
func (p *Projector) Read(ctx context.Context, reading *sqlbatch.Batch) error {
	conn, err := p.db.Writers.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("build %s: %w", p.projection.Name, err)
	}
	defer conn.Release()
	if err := reading.Send(ctx, conn.Conn()); err != nil {
		return fmt.Errorf("read what a batch of %s changes: %w", p.projection.Name, err)
	}
	return nil
}

// writeBulk moves the checkpoint and writes what a batch has changed, in one transaction.
func (p *Projector) writeBulk(
	ctx context.Context, writing *sqlbatch.Batch, to eventstore.Position,
) (err error) {
	defer recovered(&err)
	conn, err := p.db.Writers.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("build %s: %w", p.projection.Name, err)
	}
	defer conn.Release()
	defer func() {
		if err != nil {
			rollback(ctx, conn)
		}
	}()
	var serving bool
	opening := sqlbatch.New(p.at.Schema())
	opening.Begin()
	p.at.Advance(opening, to, p.lease, &serving)
	if err := opening.Send(ctx, conn.Conn()); err != nil {
		return fmt.Errorf("build %s: %w", p.projection.Name, err)
	}
	writing.Commit()
	ctx, cancel := outliving(ctx)
	defer cancel()
	if err := writing.Send(ctx, conn.Conn()); err != nil {
		return fmt.Errorf("write a batch of %s: %w", p.projection.Name, err)
	}
	return nil
}
