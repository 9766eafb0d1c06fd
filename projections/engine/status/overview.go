package status

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventlog"
	"linkledger/events/eventstore/logreader"
	"linkledger/projections/engine/generation"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
	"linkledger/projections/readmodel/controlschema"
)

// State is the state of a generation of a projection, for operators.
type State string

// The states.
const (
	Live       State = "live"        // it serves and is up to date
	Building   State = "building"    // it has not served yet
	Kept       State = "kept"        // it has served, and stays up to date for a rollback
	CatchingUp State = "catching-up" // it serves, and is behind the log
	// Failing means that its owner tries again after an error that may be temporary.
	Failing   State = "failing"
	Stopped   State = "stopped"   // its owner waits before it tries a failed batch again
	Paused    State = "paused"    // by an operator
	Unowned   State = "unowned"   // no process owns it
	Misplaced State = "misplaced" // it was built from another log: rebuild it
)

// maxLiveLag is the maximum age of the oldest event that a live projection has not applied.
const maxLiveLag = 2 * time.Second

// maxCounted is how many events of a backlog are counted. The rest is estimated.
const maxCounted = 20_000

// Overview is the state of a generation for operators, whichever process owns it.
type Overview struct {
	Name       string
	Generation int
	Serving    bool
	Built      bool // it serves or has served
	Current    bool // its tables fit this version of the program
	Position   eventstore.Position
	Witness    eventlog.Identity // see generation.Checkpoint
	LagEvents  int               // not applied yet; an estimate above maxCounted
	Lag        time.Duration     // age of the oldest of these events; 0: none
	Rate       float64           // events per second, recently
	State      State
	Owner      string // empty: none
	LastError  string // empty: none
}

// overviewRow is a row of generations. Vacant is true if no process owns the generation, which only
// the database can decide.
type overviewRow struct {
	readmodel.Generation `bun:",extend"`

	Vacant bool `bun:"vacant,scanonly"`
}

// Overviews returns the state of all projections from the database and the log of the event store.
func Overviews(
	ctx context.Context, projections projection.Set, db *readmodel.DB, store *eventstore.Store,
) ([]Overview, error) {
	overviews, err := Generations(ctx, db)
	if err != nil {
		return nil, err
	}
	return overviews, AddLag(ctx, projections, store, overviews)
}

// Generations returns the state of all projections from the database, without their lag.
func Generations(ctx context.Context, db *readmodel.DB) ([]Overview, error) {
	var rows []overviewRow
	if err := db.NewSelect().Model(&rows).ColumnExpr("*, "+controlschema.Vacant+" AS vacant").
		Order("name", "generation").Scan(ctx); err != nil {
		return nil, fmt.Errorf("generations: %w", err)
	}
	overviews := make([]Overview, len(rows))
	for i, row := range rows {
		overviews[i] = overviewOf(row)
	}
	return overviews, nil
}

// AddLag adds how far each projection is behind the log of the event store.
func AddLag(
	ctx context.Context, projections projection.Set, store *eventstore.Store, overviews []Overview,
) error {
	counting, ctx := errgroup.WithContext(ctx)
	for i := range overviews {
		o := &overviews[i]
		p, err := projections.Named(o.Name)
		if err != nil {
			return fmt.Errorf("%w: it is of another version", err)
		}
		counting.Go(func() error {
			var backlog logreader.Backlog
			err := store.Fits(ctx, o.Position, o.Witness, p.Filter)
			if err == nil {
				backlog, err = store.Backlog(ctx, o.Position, p.Filter, maxCounted)
			}
			if errors.Is(err, eventstore.ErrPositionInvalid) { // other generations may fit
				o.State, o.LastError = Misplaced, err.Error()
				return nil
			}
			o.lag(backlog, time.Now())
			return err
		})
	}
	return counting.Wait()
}

func overviewOf(row overviewRow) Overview {
	shape, err := readmodel.Shape(row.Name) // an error means a projection of another version
	at := generation.CheckpointOf(row.Generation)
	o := Overview{
		Name: row.Name, Generation: row.Generation.Generation, Serving: row.Serving,
		Built:    row.Built,
		Current:  err == nil && row.Shape == shape,
		Position: at.Position, Witness: at.Witness,
		State: stateOf(row), LastError: row.LastError,
	}
	if !row.Vacant {
		o.Owner, o.Rate = row.Owner, row.Rate
	}
	return o
}

// lag stores a backlog. A live generation that is too far behind becomes CatchingUp.
func (o *Overview) lag(backlog logreader.Backlog, now time.Time) {
	o.LagEvents = backlog.Events
	if backlog.Events > 0 {
		o.Lag = max(0, now.Sub(backlog.Oldest))
	}
	if o.State == Live && o.Lag > maxLiveLag {
		o.State = CatchingUp
	}
}

func stateOf(row overviewRow) State {
	switch {
	case row.Paused:
		return Paused
	case row.Vacant:
		return Unowned
	case row.Stopped:
		return Stopped
	case row.LastError != "":
		return Failing
	case !row.Built:
		return Building
	case !row.Serving:
		return Kept
	}
	return Live
}
