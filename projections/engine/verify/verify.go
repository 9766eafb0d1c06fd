package verify

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"

	"linkledger/events/eventstore"
	"linkledger/projections/engine/deadletter"
	"linkledger/projections/engine/generation"
	"linkledger/projections/engine/status"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
)

// ErrDisturbed means that what Run replayed is no longer what the projection has, because a dead
// letter was retried or discarded meanwhile: verify again.
var ErrDisturbed = errors.New("the projection's past has changed meanwhile")

const (
	// tailTime is how long the last stretch of the log may take to replay, during which a snapshot
	// of the tables is held.
	tailTime = 2 * time.Second
	// replayEvents and replayBytes, of their bodies, bound the events that are replayed in one
	// transaction.
	replayEvents = 4_000
	replayBytes  = 8 << 20
)

// Result is what Run found.
type Result struct {
	Name       string
	Generation int                 // the one that serves
	Position   eventstore.Position // at which it was compared
	Events     int64               // replayed
	Rows       int64               // that there should be
	Different  int64               // rows that are changed, missing or too many
	// Differences are the first of them, at most mostDifferences of each table.
	Differences []Difference
}

// Log is the log that is replayed.
type Log interface {
	// Head returns the position of its last event.
	Head(ctx context.Context) (eventstore.Position, error)
	// ReadLog hands on the events behind a position, up to another one, in their order.
	ReadLog(
		ctx context.Context, behind, upTo eventstore.Position,
		handle func([]eventstore.Recorded) error,
	) error
}

// Run replays the log up to exactly where the generation that serves stands, into temporary tables
// which PostgreSQL removes with their connection, and compares all tables row by row. The
// projection goes on meanwhile: its checkpoint and its rows are read in one snapshot. What is set
// aside as dead letters is left out. Errors: an *EventError where the log has an event that can't
// be applied, ErrDisturbed, ErrOtherShape.
func Run(
	ctx context.Context, db *readmodel.DB, log Log, p projection.Definition,
	tell func([]status.Progress),
) (Result, error) {
	name := p.Name
	head, err := log.Head(ctx)
	if err != nil {
		return Result{}, fmt.Errorf("verify %s: %w", name, err)
	}
	r := &replay{
		projection: p, log: log, head: head, tell: tell, began: time.Now(),
		folds: p.Folds(db.MasterKey),
	}
	found, err := r.verify(ctx, db)
	if err != nil {
		return found, fmt.Errorf("verify %s: %w", name, err)
	}
	return found, nil
}

// replay brings the log into temporary tables.
type replay struct {
	projection projection.Definition
	log        Log
	head       eventstore.Position // of the log when the replay began
	tell       func([]status.Progress)
	began      time.Time
	folds      projection.Folds

	scratch bun.Conn // has the temporary tables

	to     target              // as last aimed at
	at     eventstore.Position // up to here the log is in the tables
	events int64
}

// target is what a replay has to arrive at.
type target struct {
	generation.Checkpoint
	letters map[string]eventstore.Position // the first dead letter of each stream that has some
}

// isParked tells of the events that are set aside: a dead letter and what follows in its stream.
func (t target) isParked(e eventstore.Recorded) bool {
	first, ok := t.letters[e.Stream]
	return ok && !first.After(e.Position)
}

func (r *replay) verify(ctx context.Context, db *readmodel.DB) (found Result, err error) {
	scratch, err := db.OpenScratch(ctx, r.projection.Name)
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, scratch.Close()) }()
	if r.scratch, err = scratch.Conn(ctx); err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, r.scratch.Close()) }()
	// A snapshot hinders PostgreSQL's tidying up while it is held: the bulk is replayed before.
	for near := false; !near; {
		began := time.Now()
		if err := r.follow(ctx, r.scratch); err != nil {
			return found, err
		}
		near = time.Since(began) < tailTime
	}
	snapshot := &sql.TxOptions{Isolation: sql.LevelRepeatableRead}
	err = r.scratch.RunInTx(ctx, snapshot, func(ctx context.Context, tx bun.Tx) error {
		if err := r.follow(ctx, tx); err != nil {
			return err
		}
		var err error
		found, err = r.compare(ctx, tx)
		return err
	})
	return found, err
}

// follow replays the log up to where the generation stands that serves.
func (r *replay) follow(ctx context.Context, db bun.IDB) error {
	if err := r.aim(ctx, db); err != nil {
		return err
	}
	var gathered []eventstore.Recorded
	size := 0
	apply := func() error {
		if err := r.apply(ctx, gathered); err != nil {
			return err
		}
		gathered, size = gathered[:0], 0
		return nil
	}
	err := r.log.ReadLog(ctx, r.at, r.to.Position, func(batch []eventstore.Recorded) error {
		for _, e := range batch {
			if r.projection.Filter.Matches(e) && !r.to.isParked(e) {
				gathered = append(gathered, e)
				size += len(e.Data)
			}
		}
		if len(gathered) < replayEvents && size < replayBytes {
			return nil
		}
		return apply()
	})
	if err == nil && len(gathered) > 0 {
		err = apply()
	}
	r.at = r.to.Position
	return err
}

// aim reads where the generation stands that serves. What was replayed before must still be part of
// it.
func (r *replay) aim(ctx context.Context, db bun.IDB) error {
	serving, err := generation.Serving(ctx, db, r.projection.Name)
	if err != nil {
		return err
	}
	shape, err := readmodel.Shape(r.projection.Name)
	if err != nil {
		return err
	}
	if serving.Shape != shape {
		return generation.ErrOtherShape
	}
	next := target{Checkpoint: generation.CheckpointOf(serving)}
	if next.letters, err = deadletter.First(ctx, db, next.Checkpoint); err != nil {
		return err
	}
	past := maps.Clone(next.letters)
	maps.DeleteFunc(
		past, func(_ string, first eventstore.Position) bool { return first.After(r.at) },
	)
	if r.at.After(next.Position) || !maps.Equal(past, r.to.letters) {
		return ErrDisturbed
	}
	r.to = next
	return nil
}

// apply replays events within the transaction of the connection, if there is one: an error gives up
// the tables.
func (r *replay) apply(ctx context.Context, recorded []eventstore.Recorded) error {
	facts, err := r.projection.Decode(recorded)
	if err != nil {
		return err
	}
	err = r.scratch.Raw(func(conn any) error {
		//nolint:forcetypeassert // the driver of readmodel
		_, err := r.projection.Apply(
			ctx, conn.(*stdlib.Conn).Conn(), readmodel.ScratchSchema, r.folds, facts,
		)
		return err
	})
	if err != nil {
		return err
	}
	r.events += int64(len(recorded))
	r.progress(recorded[len(recorded)-1].Position, false)
	return nil
}

func (r *replay) progress(at eventstore.Position, done bool) {
	r.tell([]status.Progress{{
		Name: r.projection.Name, Generation: r.to.Generation, Position: at.Commit,
		Head: max(r.head.Commit, at.Commit),
		Rate: float64(r.events) / time.Since(r.began).Seconds(), Done: done,
	}})
}
