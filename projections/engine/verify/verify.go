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
	"linkledger/projections/keystore/keyfile"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
)

// ErrDisturbed means that the replay no longer matches the projection: a dead letter was retried or
// discarded meanwhile, or a generation took over that judges clicks by other words. Verify again.
var ErrDisturbed = errors.New("dead letters were retried or discarded meanwhile, or clicks are " +
	"judged anew: verify again")

const (
	// tailTime is how long the replay of the last part of the log may take. A snapshot of the
	// tables is held during that time.
	tailTime = 2 * time.Second
	// replayEvents and replayBytes bound the events of one transaction: their number and the size
	// of their bodies.
	replayEvents = 4_000
	replayBytes  = 8 << 20
)

// Result is the outcome of Run.
type Result struct {
	Name       string
	Generation int                 // the generation that serves
	Position   eventstore.Position // at which the tables were compared
	Events     int64               // replayed
	Rows       int64               // expected by the replay
	Different  int64               // changed, missing and superfluous rows
	// Differences lists at most maxDifferences of each table.
	Differences []Difference
}

// Log is the log to replay.
type Log interface {
	// Head returns the position of the last event.
	Head(ctx context.Context) (eventstore.Position, error)
	// ReadLog passes the events after one position and up to another one to handle, in the order of
	// the log.
	ReadLog(
		ctx context.Context, behind, upTo eventstore.Position,
		handle func([]eventstore.Recorded) error,
	) error
}

// Run replays the log up to the checkpoint of the serving generation and compares all tables row by
// row. It leaves out the dead letters, except events that the projection applies although they are
// set aside. It fails with an *EventError if an event cannot be applied, and with ErrDisturbed or
// ErrOtherShape.
//
// The replay fills temporary tables, which PostgreSQL removes when their connection ends. The
// projection continues during the comparison, which reads the checkpoint and the rows of the
// projection in one snapshot.
func Run(
	ctx context.Context, db *readmodel.DB, log Log, p projection.Definition,
	onProgress func([]status.Progress),
) (Result, error) {
	name := p.Name
	head, err := log.Head(ctx)
	if err != nil {
		return Result{}, fmt.Errorf("verify %s: %w", name, err)
	}
	r := &replay{
		projection: p, log: log, head: head, onProgress: onProgress, began: time.Now(),
		master: db.Keys.Master,
	}
	found, err := r.verify(ctx, db)
	if err != nil {
		return found, fmt.Errorf("verify %s: %w", name, err)
	}
	return found, nil
}

// replay applies the log to temporary tables.
type replay struct {
	projection projection.Definition
	log        Log
	head       eventstore.Position // of the log when the replay began
	onProgress func([]status.Progress)
	began      time.Time
	master     *keyfile.MasterKey
	folds      projection.Folds
	judgement  int64 // number of the judgement of the folds

	scratch bun.Conn // owns the temporary tables

	to     target              // as last read
	at     eventstore.Position // the log is in the tables up to here
	events int64
}

// target is the state that a replay has to reach.
type target struct {
	generation.Checkpoint
	setAside  deadletter.SetAside
	discarded deadletter.Discarded
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
	// A long snapshot keeps PostgreSQL from removing dead rows. Most of the log is therefore
	// replayed before the snapshot is taken.
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

// follow replays the log up to the checkpoint of the serving generation.
func (r *replay) follow(ctx context.Context, db bun.IDB) error {
	if err := r.readTarget(ctx, db); err != nil {
		return err
	}
	var pending []eventstore.Recorded
	size := 0
	apply := func() error {
		if err := r.apply(ctx, pending); err != nil {
			return err
		}
		pending, size = pending[:0], 0
		return nil
	}
	err := r.log.ReadLog(ctx, r.at, r.to.Position, func(batch []eventstore.Recorded) error {
		for _, e := range batch {
			if !r.projection.Filter.Matches(e) {
				continue
			}
			if !r.isLeftOut(e) {
				pending = append(pending, e)
				size += len(e.Data)
				continue
			}
			ending, ok := r.projection.Detached(e, 0)
			if !ok {
				continue
			}
			if err := apply(); err != nil {
				return err
			}
			if err := r.applyEnding(ctx, ending); err != nil {
				return err
			}
		}
		if len(pending) < replayEvents && size < replayBytes {
			return nil
		}
		return apply()
	})
	if err == nil {
		err = apply()
	}
	r.at = r.to.Position
	return err
}

// readTarget reads the checkpoint and the dead letters of the serving generation. It fails with
// ErrDisturbed if the events that were replayed already are no longer the ones that this generation
// has applied.
func (r *replay) readTarget(ctx context.Context, db bun.IDB) error {
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
	if err := r.readJudgement(ctx, db, next.Checkpoint); err != nil {
		return err
	}
	if next.setAside, err = deadletter.SetAsideBy(ctx, db, next.Checkpoint); err != nil {
		return err
	}
	if next.discarded, err = deadletter.DiscardedBy(ctx, db, r.projection.Name); err != nil {
		return err
	}
	if r.at.After(next.Position) || !maps.Equal(next.setAside.UpTo(r.at), r.to.setAside) ||
		r.events > 0 && !maps.Equal(next.discarded, r.to.discarded) {
		return ErrDisturbed
	}
	r.to = next
	return nil
}

// readJudgement makes the folds on the first call. They judge clicks as the serving generation
// does. A later call fails with ErrDisturbed if the serving generation judges clicks by other
// words.
func (r *replay) readJudgement(ctx context.Context, db bun.IDB, at generation.Checkpoint) error {
	judgement, number, err := generation.JudgementOf(ctx, db, at)
	switch {
	case err != nil:
		return err
	case r.folds == nil:
		given := projection.Given{Master: r.master, Judgement: judgement}
		r.folds, r.judgement = r.projection.Folds(given), number
	case r.judgement != number:
		return ErrDisturbed
	}
	return nil
}

// isLeftOut reports whether an event is set aside or was discarded.
func (r *replay) isLeftOut(e eventstore.Recorded) bool {
	return r.to.setAside.Has(e) || r.to.discarded.Has(e)
}

// apply applies events to the temporary tables, within the transaction of the connection if there
// is one. After an error the tables are not usable.
func (r *replay) apply(ctx context.Context, recorded []eventstore.Recorded) error {
	if len(recorded) == 0 {
		return nil
	}
	decoded, err := r.projection.Decode(recorded)
	if err != nil {
		return err
	}
	if err := r.applyDecoded(ctx, decoded); err != nil {
		return err
	}
	r.events += int64(len(recorded))
	r.progress(recorded[len(recorded)-1].Position, false)
	return nil
}

// applyEnding applies an event that ends rights, although the event is set aside or discarded. If
// the event cannot be applied, applyEnding skips it, as the projection does.
func (r *replay) applyEnding(ctx context.Context, ending projection.Event) error {
	err := r.applyDecoded(ctx, []projection.Event{ending})
	if _, refused := errors.AsType[*projection.EventError](err); refused {
		err = nil
	}
	if err == nil {
		r.events++
	}
	return err
}

func (r *replay) applyDecoded(ctx context.Context, decoded []projection.Event) error {
	return r.scratch.Raw(func(conn any) error {
		//nolint:forcetypeassert // the driver of readmodel
		_, err := r.projection.Apply(
			ctx, conn.(*stdlib.Conn).Conn(), readmodel.ScratchSchema, r.folds, decoded,
		)
		return err
	})
}

func (r *replay) progress(at eventstore.Position, done bool) {
	r.onProgress([]status.Progress{{
		Name: r.projection.Name, Generation: r.to.Generation, Position: at.Commit,
		Head: max(r.head.Commit, at.Commit),
		Rate: float64(r.events) / time.Since(r.began).Seconds(), Done: done,
	}})
}
