package projections

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"linkledger/events/eventstore"
	"linkledger/projections/readmodel"
)

// mostRecent bounds, in bytes, what a build knows of the tables: at least as much, at most twice.
const mostRecent = 48 << 20

// bulk is what a build knows of the tables that it alone fills, so that it need not ask: most links are edited soon after
// they were created. What a batch has changed is known at least until the next one is in the tables too.
type bulk struct {
	links   recent[uuid.UUID, *readmodel.Link]
	numbers recent[uuid.UUID, int64] // of the next links of accounts
}

func newBulk() *bulk {
	const place = 100 // in a map
	return &bulk{
		links: recent[uuid.UUID, *readmodel.Link]{weigh: func(row *readmodel.Link) int {
			return place + int(unsafe.Sizeof(*row)) + len(row.LongURL) + len(row.Note) + len(row.Hash) + len(row.TagIDs)*len(row.ID)
		}},
		numbers: recent[uuid.UUID, int64]{weigh: func(int64) int { return place }},
	}
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
	if r.young == nil || r.size > mostRecent {
		r.old, r.young, r.size = r.young, make(map[K]V), 0
	}
	if _, ok := r.young[key]; !ok {
		r.size += r.weigh(value)
	}
	r.young[key] = value
}

// take brings a batch into the tables, in stretches. After an erasure a build knows the notes no more.
func (p *projector) take(ctx context.Context, recorded []eventstore.Recorded, to eventstore.Position) error {
	stretches := cutAtErasures(recorded, func(r eventstore.Recorded) eventstore.Recorded { return r })
	for i, stretch := range stretches {
		upTo := to
		if i < len(stretches)-1 {
			upTo = stretch[len(stretch)-1].Position
		}
		if !isErasure(stretch) {
			if err := p.takeStretch(ctx, stretch, upTo); err != nil {
				return err
			}
			continue
		}
		if err := p.settle(ctx); err != nil {
			return err
		}
		if err := p.applyAll(ctx, stretch, upTo); err != nil {
			return err
		}
		if p.bulk != nil {
			p.bulk = newBulk()
		}
	}
	return nil
}

// takeStretch brings events into the tables. Those of a build are folded while PostgreSQL takes in the ones before, and not
// waited for: settle does that.
func (p *projector) takeStretch(ctx context.Context, recorded []eventstore.Recorded, to eventstore.Position) error {
	if p.bulk == nil || len(recorded) == 0 || !p.keeps {
		if err := p.settle(ctx); err != nil {
			return err
		}
	}
	if p.bulk == nil || len(recorded) == 0 {
		return p.applyAll(ctx, recorded, to)
	}
	folded, err := p.foldBulk(ctx, recorded)
	if before := p.settle(ctx); before != nil {
		return before
	}
	switch {
	case err == nil:
		p.writeLater(ctx, folded, recorded, to)
		return nil
	case transient(err):
		p.bulk = newBulk()
		return err
	default:
		p.bulk = newBulk()
		return p.applyAll(ctx, recorded, to)
	}
}

func (p *projector) writeLater(ctx context.Context, writing *statements, recorded []eventstore.Recorded, to eventstore.Position) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // which ends with the message
	p.writing = to
	outcome := make(chan error, 1)
	go func() { outcome <- p.writeBulk(ctx, writing, to) }()
	p.written = func(waiting context.Context) error {
		defer cancel()
		defer context.AfterFunc(waiting, cancel)()
		err := <-outcome
		if err == nil {
			p.reached(to, recorded, false, nil)
		}
		return err
	}
}

// settle waits for the batch that PostgreSQL takes in. Where one can't be applied for what is in it, all go on one at a
// time, so that the event is found.
func (p *projector) settle(ctx context.Context) error {
	if p.written == nil {
		return nil
	}
	err := p.written(ctx)
	p.writing, p.written = eventstore.Position{}, nil
	switch {
	case err == nil:
	case transient(err):
		p.bulk = newBulk() // the old one knows what never came to be
	default:
		p.bulk = nil
	}
	return err
}

// foldBulk returns the statements that take events into the tables.
func (p *projector) foldBulk(ctx context.Context, recorded []eventstore.Recorded) (writing *statements, err error) {
	defer recovered(&err)
	facts, err := p.facts(recorded, func(eventstore.Recorded) bool { return false }) // builds never park
	if err != nil {
		return nil, err
	}
	reading, writing := newStatements(p.at.schema(), &p.notes), newStatements(p.at.schema(), &p.notes)
	reading.bulk, writing.bulk = p.bulk, p.bulk
	folding := p.fold()
	if folding.read(reading, facts); reading.Len() > 0 {
		if err := p.read(ctx, reading); err != nil {
			return nil, err
		}
	}
	if err := foldEach(facts, folding.step); err != nil {
		return nil, err
	}
	folding.write(writing)
	return writing, nil
}

// read asks without a transaction: whoever else changes the tables moves the checkpoint too, and writeBulk notices.
func (p *projector) read(ctx context.Context, reading *statements) error {
	conn, err := p.db.Writers.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("build %s: %w", p.name, err)
	}
	defer conn.Release()
	if err := reading.send(ctx, conn); err != nil {
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
	if err := opening.send(ctx, conn); err != nil {
		return fmt.Errorf("build %s: %w", p.name, err)
	}
	writing.queue("COMMIT")
	ctx, cancel := outliving(ctx)
	defer cancel()
	if err := writing.send(ctx, conn); err != nil {
		return fmt.Errorf("write a batch of %s: %w", p.name, err)
	}
	return nil
}
