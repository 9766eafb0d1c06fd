package status

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"linkledger/events/eventstore"
	"linkledger/projections/engine/generation"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
)

// State is how a generation of a projection is doing, for operators.
type State string

// The states.
const (
	Live       State = "live"        // it serves and keeps up
	Building   State = "building"    // it is on its way to take over
	Kept       State = "kept"        // it served once, and is kept up to date for a rollback
	CatchingUp State = "catching-up" // it serves, and has more to apply than is new
	// its owner does not get on, for a reason that may pass; it goes on trying.
	Failing   State = "failing"
	Stopped   State = "stopped"   // its owner stands before an event that it can't apply
	Paused    State = "paused"    // by an operator
	Unowned   State = "unowned"   // no process keeps it up to date
	Misplaced State = "misplaced" // its checkpoint is not in the log; it is to be rebuilt
)

// keepsUp is the age that the oldest event which is not applied may have in a projection that keeps
// up.
const keepsUp = 2 * time.Second

// mostCounted bounds the counting of a backlog; what is beyond is estimated.
const mostCounted = 20_000

// Overview is what operators see of a generation, whichever process owns it.
type Overview struct {
	Name       string
	Generation int
	Serving    bool
	Position   eventstore.Position
	LagEvents  int           // that are still to be applied; an estimate if there are very many
	Lag        time.Duration // age of the oldest of them
	Rate       float64       // events per second of late
	State      State
	Owner      string // empty: none
	LastError  string // empty: none
}

// overviewRow is a generation with what only the database's clock tells.
type overviewRow struct {
	readmodel.Generation `bun:",extend"`

	Vacant bool `bun:"vacant,scanonly"`
}

// Overviews tells how all projections are doing, by the tables of the database and the event
// store's own log.
func Overviews(
	ctx context.Context, projections projection.Set, db *readmodel.DB, store *eventstore.Store,
) ([]Overview, error) {
	overviews, err := Generations(ctx, db)
	if err != nil {
		return nil, err
	}
	return overviews, AddLag(ctx, projections, store, overviews)
}

// Generations tells what the tables of the database say of all projections: no lag.
func Generations(ctx context.Context, db *readmodel.DB) ([]Overview, error) {
	var rows []overviewRow
	if err := db.NewSelect().Model(&rows).ColumnExpr("*, "+readmodel.Vacant+" AS vacant").
		Order("name", "generation").Scan(ctx); err != nil {
		return nil, fmt.Errorf("generations: %w", err)
	}
	overviews := make([]Overview, len(rows))
	for i, row := range rows {
		overviews[i] = overviewOf(row)
	}
	return overviews, nil
}

// AddLag adds what the event store's own log says of the projections: how far each lags behind it.
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
			backlog, err := store.Backlog(ctx, o.Position, p.Filter, mostCounted)
			if errors.Is(err, eventstore.ErrPositionInvalid) { // which says nothing of the others
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
	o := Overview{
		Name: row.Name, Generation: row.Generation.Generation, Serving: row.Serving,
		Position: generation.CheckpointOf(row.Generation).Position,
		State:    stateOf(row), LastError: row.LastError,
	}
	if !row.Vacant {
		o.Owner, o.Rate = row.Owner, row.Rate
	}
	return o
}

// lag notes what is still to be applied.
func (o *Overview) lag(backlog eventstore.Backlog, now time.Time) {
	o.LagEvents = backlog.Events
	if backlog.Events > 0 {
		o.Lag = max(0, now.Sub(backlog.Oldest))
	}
	if o.State == Live && o.Lag > keepsUp {
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
