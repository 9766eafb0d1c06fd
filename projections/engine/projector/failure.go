package projector

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"linkledger/events/eventstore"
	"linkledger/projections/projection"
)

// Policy is what becomes of an event that can't be applied.
type Policy string

const (
	// Stop has the projection stand before the event until it can be applied.
	Stop Policy = "stop"
	// Park sets the event aside as a dead letter, and with it what follows in its stream, so that
	// the order within the stream is kept. A generation that is being built never parks.
	Park Policy = "park"
)

// retryInterval is how long a stopped projection waits before it tries the event again by itself:
// whoever mends the cause need not tell.
const retryInterval = time.Minute

// errPanicked stands for a panic while a batch was applied.
var errPanicked = errors.New("panic")

// recovered makes a panic the error of the function that defers it.
func recovered(err *error) {
	if cause := recover(); cause != nil {
		*err = fmt.Errorf("%w: %v\n%s", errPanicked, cause, debug.Stack())
	}
}

// Transient tells whether an error is about the surroundings, so that the same batch may succeed
// later. What PostgreSQL says of a statement is about its data, but for some classes; what it does
// not say (a lost connection, a time limit) never is.
func Transient(err error) bool {
	if _, ok := errors.AsType[*projection.EventError](err); ok || errors.Is(err, errPanicked) {
		return false
	}
	refused, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return true
	}
	// read-only, idle too long, locked
	if refused.Code == "25006" || refused.Code == "25P03" || refused.Code == "55P03" {
		return true
	}
	switch refused.Code[:min(2, len(refused.Code))] {
	case "08", "40", "53", "57", "58": // connection, rollback, resources, intervention, system
		return true
	}
	return false
}

// applyOrBisect commits a batch. Where an event can't be applied, it is found by bisection, and what
// precedes it is committed; where something is held, only once it has come again.
func (p *Projector) applyOrBisect(
	ctx context.Context, recorded []eventstore.Recorded, to eventstore.Position,
) error {
	holding := p.pending != nil
	err := p.commit(ctx, recorded, to)
	if holding {
		p.discardBuffered(to, err)
		return err
	}
	if err == nil || len(recorded) == 0 || Transient(err) {
		return err
	}
	if len(recorded) == 1 {
		return p.setAside(ctx, recorded[0], to, err)
	}
	cut := len(recorded) / 2
	if failed, ok := errors.AsType[*projection.EventError](err); ok { // the fold knows which one
		cut = max(failed.Index, 1)
	}
	if err := p.applyOrBisect(ctx, recorded[:cut], recorded[cut-1].Position); err != nil {
		return err
	}
	return p.applyOrBisect(ctx, recorded[cut:], to)
}

// SetAside does with an event that can't be applied what the policy says.
func (p *Projector) setAside(
	ctx context.Context, r eventstore.Recorded, to eventstore.Position, cause error,
) error {
	failed, ok := errors.AsType[*projection.EventError](cause)
	if !ok {
		failed = projection.NewEventError(r, 0, cause)
	}
	if p.policy == Park {
		parked, err := p.park(ctx, r, to, failed)
		if parked || err != nil {
			return err
		}
	}
	p.retryAt = time.Now().Add(retryInterval)
	return failed
}

// waitIfStopped waits while the projection is stopped.
func (p *Projector) waitIfStopped(ctx context.Context) error {
	p.mu.Lock()
	wait := time.Until(p.retryAt)
	stopped := !p.retryAt.IsZero()
	p.retryAt = time.Time{}
	p.mu.Unlock()
	if !stopped {
		return nil
	}
	p.status.Stop(true)
	defer p.status.Stop(false)
	select { // tell the database now
	case p.stop <- struct{}{}:
	default:
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.resume:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}
