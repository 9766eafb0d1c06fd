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
	mostGathered = 16 << 20 // what one transaction writes
	factSize     = 48       // what a fact takes beside its contents
)

// bulk is how a generation is filled that nobody reads yet.
type bulk struct {
	loader projection.Loader // nil: the projection has none
}

// begin makes room for what the next transaction writes.
func (b *bulk) begin() {
	if b.loader != nil {
		b.loader.Begin()
	}
}

// touched is how many bytes the rows take that are to be written, as far as they are known.
func (b *bulk) touched() int {
	if b.loader == nil {
		return 0
	}
	return b.loader.Touched()
}

func (p *Projector) newBulk() *bulk { return &bulk{p.folds.Loader()} }

// bulkFold returns the fold of the next transaction of a build.
func (p *Projector) bulkFold() projection.Fold {
	if p.bulk != nil && p.bulk.loader != nil {
		return p.bulk.loader.Next()
	}
	return p.folds.Next()
}

// stretch is a part of the log that goes into the tables together.
type stretch struct {
	to     eventstore.Position
	events int
	last   time.Time // when the last of them was recorded; zero: there are none
}

func (s *stretch) extend(recorded []eventstore.Recorded, to eventstore.Position) {
	s.to, s.events = to, s.events+len(recorded)
	if len(recorded) > 0 {
		s.last = recorded[len(recorded)-1].Time
	}
}

// gathered is what was folded since PostgreSQL was given something to write.
type gathered struct {
	stretch

	fold    projection.Fold
	letters []deadletter.Letter
	size    int // of the events, in bytes
}

func (g *gathered) add(
	recorded []eventstore.Recorded, facts []projection.Event, to eventstore.Position,
) error {
	if err := projection.Each(facts, g.fold.Apply); err != nil {
		return err
	}
	g.extend(recorded, to)
	for _, r := range recorded {
		g.size += factSize + len(r.Data) + len(r.Metadata)
	}
	return nil
}

// writing is what PostgreSQL takes in.
type writing struct {
	stretch

	outcome chan error
	cancel  context.CancelFunc
}

// take brings a batch into the tables, in parts. After an event that is applied alone a build knows
// no rows any more.
func (p *Projector) take(
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
			if err := p.takePart(ctx, part, upTo, held); err != nil {
				return err
			}
			continue
		}
		if err := p.Settle(ctx); err != nil {
			return err
		}
		if err := p.applyAll(ctx, part, upTo); err != nil {
			return err
		}
		if p.bulk != nil {
			p.bulk = p.newBulk()
		}
	}
	return nil
}

// takePart brings events into the tables, or gathers them. Nobody waits for those that are held,
// and for none of a build; settle does.
func (p *Projector) takePart(
	ctx context.Context, recorded []eventstore.Recorded, to eventstore.Position, held bool,
) error {
	if p.bulk != nil && len(recorded) > 0 {
		return p.takeBulk(ctx, recorded, to)
	}
	if p.bulk != nil {
		if err := p.Settle(ctx); err != nil {
			return err
		}
	} else if held && p.mayHold() {
		return p.hold(ctx, recorded, to)
	}
	return p.applyAll(ctx, recorded, to)
}

// takeBulk gathers events while PostgreSQL takes in what came before, as far as there is room: a
// row that many of them change is written once.
func (p *Projector) takeBulk(
	ctx context.Context, recorded []eventstore.Recorded, to eventstore.Position,
) error {
	if p.bulk.loader == nil {
		if err := p.Settle(ctx); err != nil {
			return err
		}
	}
	if err := p.gather(ctx, recorded, to); err != nil {
		p.giveUp(err)
		return err
	}
	if p.writing != nil && len(p.writing.outcome) == 0 &&
		p.gathered.size+p.bulk.touched() < mostGathered {
		return nil
	}
	if err := p.await(ctx); err != nil {
		return err
	}
	return p.writeLater(ctx)
}

// Settle waits until everything that was taken is in the tables.
func (p *Projector) Settle(ctx context.Context) error {
	if err := p.await(ctx); err != nil || p.gathered == nil {
		return err
	}
	if p.bulk == nil {
		return p.applyAll(ctx, nil, p.gathered.to)
	}
	if err := p.writeLater(ctx); err != nil {
		return err
	}
	return p.await(ctx)
}

// abandon waits for what PostgreSQL takes in, and forgets what it was not given yet.
func (p *Projector) abandon(ctx context.Context) {
	p.gathered = nil
	_ = p.await(ctx) // what came of it the database knows
}

// await waits for what PostgreSQL takes in.
func (p *Projector) await(ctx context.Context) error {
	if p.writing == nil {
		return nil
	}
	defer p.writing.cancel()
	defer context.AfterFunc(ctx, p.writing.cancel)()
	err := <-p.writing.outcome
	if err == nil {
		p.reached(p.writing.stretch, false, nil)
	} else {
		p.giveUp(err)
	}
	p.writing = nil
	return err
}

// giveUp forgets what follows from something that failed. Where it can't be applied for what is in
// it, nothing is gathered in bulk any more, so that the event is found.
func (p *Projector) giveUp(err error) {
	p.gathered, p.bulk = nil, nil
	if Transient(err) {
		p.bulk = p.newBulk() // the old one knows what never came to be
	}
}

// gather folds a batch into what is to be written next.
func (p *Projector) gather(
	ctx context.Context, recorded []eventstore.Recorded, to eventstore.Position,
) (err error) {
	defer recovered(&err)
	sorted := p.sortOut(recorded)
	facts := sorted.facts
	if p.gathered == nil {
		p.gathered = &gathered{fold: p.bulkFold()}
	}
	folding, reading := p.gathered.fold, sqlbatch.New(p.at.Schema())
	if folding.Read(reading, facts); reading.Len() > 0 {
		if err := p.Read(ctx, reading); err != nil {
			return err
		}
	}
	if err := p.gathered.add(recorded, facts, to); err != nil {
		return err
	}
	p.gathered.letters = append(p.gathered.letters, sorted.letters...)
	// where they do not get into the table, checkpoint forgets them
	p.note(ctx, sorted.letters, sorted.skipped)
	return nil
}

// writeLater has PostgreSQL take in what was gathered, while the next batches are.
func (p *Projector) writeLater(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			p.giveUp(err)
		}
	}()
	defer recovered(&err)
	p.bulk.begin()
	statements := sqlbatch.New(p.at.Schema())
	p.gathered.fold.Write(statements)
	deadletter.Insert(statements, p.at, p.gathered.letters)
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // which ends with the message
	w := &writing{p.gathered.stretch, make(chan error, 1), cancel}
	p.gathered, p.writing = nil, w
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
