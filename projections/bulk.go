package projections

import (
	"context"
	"fmt"
	"time"
	"unsafe"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"linkledger/events/eventstore"
	"linkledger/projections/readmodel"
)

// Bounds of what a build holds, in bytes.
const (
	mostRecent   = 24 << 20 // rows that it knows: at least as much, at most twice as much and two transactions
	mostGathered = 16 << 20 // what one transaction writes
	place        = 48       // what an entry of a map or a fact takes beside its contents
)

// bulk is what a build knows of the tables that it alone fills, so that it need not ask: most links are edited soon after
// they were created. What a transaction writes is known at least until it is in the tables.
type bulk struct {
	links   recent[uuid.UUID, *readmodel.Link]
	tallies recent[uuid.UUID, tally]
	touched int // bytes of the rows that are to be written
}

func newBulk() *bulk {
	return &bulk{
		links:   recent[uuid.UUID, *readmodel.Link]{weigh: weighLink},
		tallies: recent[uuid.UUID, tally]{weigh: func(tally) int { return place + int(unsafe.Sizeof(tally{})) }},
	}
}

func weighLink(row *readmodel.Link) int {
	return place + int(unsafe.Sizeof(*row)) + len(row.LongURL) + len(row.Note) + len(row.Hash) + len(row.TagIDs)*len(row.ID)
}

// begin makes room for what the next transaction writes. What the one before wrote is in the tables by now.
func (b *bulk) begin() {
	b.links.age()
	b.tallies.age()
	b.touched = 0
}

// recent holds the values that were put or asked for last.
type recent[K comparable, V any] struct {
	weigh      func(V) int // in bytes
	young, old map[K]V     // the old ones are dropped when the young ones have become too many
	size       int         // of the young ones
}

func (r *recent[K, V]) get(key K) (V, bool) {
	value, ok := r.young[key]
	if !ok {
		if value, ok = r.old[key]; ok {
			r.put(key, value)
		}
	}
	return value, ok
}

func (r *recent[K, V]) put(key K, value V) {
	if r.young == nil {
		r.young = make(map[K]V)
	}
	if _, ok := r.young[key]; !ok {
		r.size += r.weigh(value)
	}
	r.young[key] = value
}

func (r *recent[K, V]) age() {
	if r.size > mostRecent {
		r.old, r.young, r.size = r.young, nil, 0
	}
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

	fold    fold
	letters []letter
	size    int // of the events, in bytes
}

func (g *gathered) add(recorded []eventstore.Recorded, facts []fact, to eventstore.Position) error {
	if err := foldEach(facts, g.fold.step); err != nil {
		return err
	}
	g.extend(recorded, to)
	for _, r := range recorded {
		g.size += place + len(r.Data) + len(r.Metadata)
	}
	return nil
}

// writing is what PostgreSQL takes in.
type writing struct {
	stretch

	outcome chan error
	cancel  context.CancelFunc
}

// take brings a batch into the tables, in parts. After an erasure a build knows the notes no more.
func (p *projector) take(ctx context.Context, recorded []eventstore.Recorded, to eventstore.Position, held bool) error {
	parts := cutAtErasures(recorded, func(r eventstore.Recorded) eventstore.Recorded { return r })
	for i, part := range parts {
		upTo := to
		if i < len(parts)-1 {
			upTo = part[len(part)-1].Position
		}
		if !isErasure(part) {
			if err := p.takePart(ctx, part, upTo, held); err != nil {
				return err
			}
			continue
		}
		if err := p.settle(ctx); err != nil {
			return err
		}
		if err := p.applyAll(ctx, part, upTo); err != nil {
			return err
		}
		if p.bulk != nil {
			p.bulk = newBulk()
		}
	}
	return nil
}

// takePart brings events into the tables, or gathers them. Nobody waits for those that are held, and for none of a build;
// settle does.
func (p *projector) takePart(ctx context.Context, recorded []eventstore.Recorded, to eventstore.Position, held bool) error {
	if p.bulk != nil && len(recorded) > 0 {
		return p.takeBulk(ctx, recorded, to)
	}
	if p.bulk != nil {
		if err := p.settle(ctx); err != nil {
			return err
		}
	} else if held && p.mayHold() {
		return p.hold(ctx, recorded, to)
	}
	return p.applyAll(ctx, recorded, to)
}

// takeBulk gathers events while PostgreSQL takes in what came before, as far as there is room: a row that many of them change
// is written once.
func (p *projector) takeBulk(ctx context.Context, recorded []eventstore.Recorded, to eventstore.Position) error {
	if !p.keeps {
		if err := p.settle(ctx); err != nil {
			return err
		}
	}
	if err := p.gather(ctx, recorded, to); err != nil {
		p.giveUp(err)
		return err
	}
	if p.writing != nil && len(p.writing.outcome) == 0 && p.gathered.size+p.bulk.touched < mostGathered {
		return nil
	}
	if err := p.await(ctx); err != nil {
		return err
	}
	return p.writeLater(ctx)
}

// settle waits until everything that was taken is in the tables.
func (p *projector) settle(ctx context.Context) error {
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
func (p *projector) abandon(ctx context.Context) {
	p.gathered = nil
	_ = p.await(ctx) // what came of it the database knows
}

// await waits for what PostgreSQL takes in.
func (p *projector) await(ctx context.Context) error {
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

// giveUp forgets what follows from something that failed. Where it can't be applied for what is in it, nothing is gathered in
// bulk any more, so that the event is found.
func (p *projector) giveUp(err error) {
	p.gathered, p.bulk = nil, nil
	if transient(err) {
		p.bulk = newBulk() // the old one knows what never came to be
	}
}

// gather folds a batch into what is to be written next.
func (p *projector) gather(ctx context.Context, recorded []eventstore.Recorded, to eventstore.Position) (err error) {
	defer recovered(&err)
	sorted := p.sortOut(recorded)
	facts := sorted.facts
	if p.gathered == nil {
		p.gathered = &gathered{fold: p.fold()}
	}
	folding, reading := p.gathered.fold, newStatements(p.at.schema(), &p.notes)
	reading.bulk = p.bulk
	if folding.read(reading, facts); reading.Len() > 0 {
		if err := p.read(ctx, reading); err != nil {
			return err
		}
	}
	if err := p.gathered.add(recorded, facts, to); err != nil {
		return err
	}
	p.gathered.letters = append(p.gathered.letters, sorted.letters...)
	p.note(ctx, sorted.letters, sorted.skipped) // where they do not get into the table, checkpoint forgets them
	return nil
}

// writeLater has PostgreSQL take in what was gathered, while the next batches are.
func (p *projector) writeLater(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			p.giveUp(err)
		}
	}()
	defer recovered(&err)
	p.bulk.begin()
	statements := newStatements(p.at.schema(), &p.notes)
	statements.bulk = p.bulk
	p.gathered.fold.write(statements)
	p.insertLetters(statements, p.gathered.letters)
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // which ends with the message
	w := &writing{p.gathered.stretch, make(chan error, 1), cancel}
	p.gathered, p.writing = nil, w
	go func() { w.outcome <- p.writeBulk(ctx, statements, w.to) }()
	return nil
}

// read asks without a transaction: whoever else changes the tables moves the checkpoint too, and writeBulk notices.
func (p *projector) read(ctx context.Context, reading *statements) error {
	conn, err := p.db.Writers.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("build %s: %w", p.name, err)
	}
	defer conn.Release()
	if err := reading.send(ctx, conn.Conn()); err != nil {
		return fmt.Errorf("read what a batch of %s changes: %w", p.name, err)
	}
	return nil
}

// writeBulk moves the checkpoint and writes what a batch has changed, in one transaction.
func (p *projector) writeBulk(ctx context.Context, writing *statements, to eventstore.Position) (err error) {
	defer recovered(&err)
	conn, err := p.db.Writers.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("build %s: %w", p.name, err)
	}
	defer conn.Release()
	defer func() {
		if err != nil {
			rollback(ctx, conn)
		}
	}()
	var serving bool
	opening := newStatements(p.at.schema(), &p.notes)
	opening.BeginTx(pgx.TxOptions{})
	p.at.advance(opening, to, p.lease, &serving)
	if err := opening.send(ctx, conn.Conn()); err != nil {
		return fmt.Errorf("build %s: %w", p.name, err)
	}
	writing.queue("COMMIT")
	ctx, cancel := outliving(ctx)
	defer cancel()
	if err := writing.send(ctx, conn.Conn()); err != nil {
		return fmt.Errorf("write a batch of %s: %w", p.name, err)
	}
	return nil
}
