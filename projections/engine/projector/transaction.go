package projector

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"linkledger/events/eventstore"
	"linkledger/projections/engine/deadletter"
	"linkledger/projections/engine/failure"
	"linkledger/projections/engine/generation"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
)

// commit applies the buffered events and the events after them, and moves the checkpoint, in one
// transaction.
func (p *Projector) commit(
	ctx context.Context, recorded []eventstore.Recorded, to eventstore.Position,
) error {
	var taken span
	folding := p.folds.Next()
	if p.pending != nil {
		taken, folding = p.pending.span, p.pending.fold
		p.pending = nil
	}
	taken.extend(recorded, to)
	if p.identified.Position == to && to != (eventstore.Position{}) {
		taken.witness = p.identified
	}
	return p.commitDecoded(ctx, folding, p.sort(recorded), taken)
}

// commitDecoded applies decoded events with a fold, and moves the checkpoint to the end of a span,
// in one transaction.
func (p *Projector) commitDecoded(
	ctx context.Context, folding projection.Fold, decoded deadletter.Sorted, taken span,
) (err error) {
	defer failure.Recovered(&err)
	if !p.isErasure(decoded.Events) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, maxTransaction)
		defer cancel()
	}
	read := func(s *sqlbatch.Batch) {
		if len(decoded.Events) > 0 {
			folding.Read(s, decoded.Events)
		}
	}
	write := func(s *sqlbatch.Batch, _ bool) ([]string, error) {
		if err := projection.Each(decoded.Events, folding.Apply); err != nil {
			return nil, err
		}
		deadletter.Insert(s, p.at, decoded.Letters)
		changed := folding.Write(s)
		if len(decoded.Letters) > 0 {
			changed = append(changed, readmodel.SetAside)
		}
		return changed, nil
	}
	serving, changed, err := p.transact(ctx, taken, read, write)
	if err != nil {
		return err
	}
	p.recordSetAside(ctx, decoded.Letters, decoded.Skipped)
	p.afterCommit(taken, serving, changed)
	return nil
}

// afterCommit stores the new position after a commit, and calls OnCommit if the generation serves.
func (p *Projector) afterCommit(taken span, serving bool, changed []string) {
	p.at.Position, p.at.Witness = taken.to, cmp.Or(taken.witness, p.at.Witness)
	p.cfg.Status.Applied(taken.to, taken.events)
	if serving {
		if !p.announced { // nothing was announced before the generation served
			p.announced = true
			changed = append(changed, readmodel.Everything)
		}
		p.cfg.OnCommit(p.cfg.Definition.Name, taken.to.Commit, changed)
	}
}

// transact moves the checkpoint in a transaction of two round trips. The first one moves the
// checkpoint and sends the queries of read. The second one sends the statements of write, and the
// notification if readers see the generation. transact returns whether readers see it, and the keys
// that write has changed.
//
// The update of the checkpoint comes first, because it checks the epoch and locks the row. So a
// former owner fails before it reads, and no other owner can write until the commit.
//
// The commit does not wait for the disk (see readmodel.DB.Writers). A crash of the database may
// undo the last transactions, each with its rows and its checkpoint. Their events are then applied
// again from the log.
func (p *Projector) transact(
	ctx context.Context, taken span,
	read func(*sqlbatch.Batch),
	write func(s *sqlbatch.Batch, serving bool) (changed []string, err error),
) (serving bool, changed []string, err error) {
	conn, err := p.cfg.DB.Writers.Acquire(ctx)
	if err != nil {
		return false, nil, fmt.Errorf("bring %s up to date: %w", p.cfg.Definition.Name, err)
	}
	defer conn.Release()
	defer func() {
		if err != nil {
			sqlbatch.Rollback(ctx, conn.Conn())
		}
	}()
	reading := sqlbatch.New(p.at.Schema())
	reading.Begin()
	p.at.Advance(reading, taken.to, taken.witness, p.cfg.Lease, &serving)
	read(reading)
	if err := reading.Send(ctx, conn.Conn()); err != nil {
		return false, nil, fmt.Errorf(
			"read the rows of a batch of %s: %w", p.cfg.Definition.Name, err,
		)
	}
	changes := sqlbatch.New(p.at.Schema())
	if changed, err = write(changes, serving); err != nil {
		return false, nil, err
	}
	if serving {
		generation.Announce(changes, p.cfg.Definition.Name, taken.to, changed)
	}
	changes.Commit()
	ctx, cancel := sqlbatch.Outliving(ctx)
	defer cancel()
	if err := changes.Send(ctx, conn.Conn()); err != nil {
		return false, nil, fmt.Errorf("write a batch of %s: %w", p.cfg.Definition.Name, err)
	}
	return serving, changed, nil
}

// maxTransaction bounds a transaction, so that a connection that was lost without being closed does
// not hold the projection up. It is as long as PostgreSQL lets a statement run.
const maxTransaction = 30 * time.Second

// isErasure reports whether a batch is an erasure. An erasure may change many rows, so its
// transaction has no time limit.
func (p *Projector) isErasure(batch []projection.Event) bool {
	return len(batch) == 1 && p.cfg.Definition.IsAlone(batch[0].Recorded)
}
