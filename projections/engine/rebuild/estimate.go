package rebuild

import (
	"context"
	"fmt"
	"time"

	"linkledger/events/eventstore"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
)

const (
	// countedEvents is how many events of the log an estimate counts at most. The number of the
	// remaining events is extrapolated.
	countedEvents = 20_000
	// usualRate is the rate of a build that is assumed if no earlier build was measured, in events
	// per second. It is what two cores reach, rounded down.
	usualRate = 10_000
)

// Estimate is the expected size and time of the next build of a projection.
type Estimate struct {
	Events   int // the events of the log that the build applies
	Took     time.Duration
	Measured bool // Took follows from an earlier build of this projection
}

// EstimateBuild estimates the next build of a projection. The time follows from the last build
// whose generation was not pruned. If there is none, it follows from usualRate.
func EstimateBuild(
	ctx context.Context, db *readmodel.DB, store *eventstore.Store, p projection.Definition,
) (e Estimate, err error) {
	backlog, err := store.Backlog(ctx, eventstore.Position{}, p.Filter, countedEvents)
	if err != nil {
		return e, fmt.Errorf("estimate the build of %s: %w", p.Name, err)
	}
	e.Events = backlog.Events
	e.Took = time.Duration(e.Events) * time.Second / usualRate
	head, err := store.Head(ctx)
	if err != nil {
		return e, fmt.Errorf("estimate the build of %s: %w", p.Name, err)
	}
	var built []readmodel.Generation
	if err := db.NewSelect().Model(&built).ColumnExpr("*").
		Where("name = ? AND built_at IS NOT NULL AND built_pos > 0", p.Name).
		Order("generation DESC").Limit(1).Scan(ctx); err != nil {
		return e, fmt.Errorf("last build of %s: %w", p.Name, err)
	}
	if len(built) > 0 {
		last := built[0]
		grown := float64(head.Commit) / float64(last.BuiltPos)
		e.Took = time.Duration(grown * float64(last.BuiltAt.Sub(last.CreatedAt)))
		e.Measured = true
	}
	return e, nil
}
