package projector

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"linkledger/events/eventstore"
	"linkledger/projections/connection"
	"linkledger/projections/projection"
)

// DefaultMaxParked is how many streams of a generation may have events that are set aside. If more
// have, the program is at fault rather than the events, and the projection stops.
const DefaultMaxParked = 10_000

// retryInterval is how long a stopped projection waits before it tries again. So it continues after
// the cause is removed, without a command of the operator.
const retryInterval = time.Minute

// errPanicked means that applying a batch panicked.
var errPanicked = errors.New("panic")

// recovered turns a panic into the error of the function that defers it.
func recovered(err *error) {
	if cause := recover(); cause != nil {
		*err = fmt.Errorf("%w: %v\n%s", errPanicked, cause, debug.Stack())
	}
}

// OfEvent reports whether an error is about one event, so that it is certain to come again for this
// event and for no other: the fold refuses the event, or PostgreSQL cannot store what the fold
// makes of it (classes 22, 23 and 54 of its error codes: data, constraints and limits).
func OfEvent(err error) bool {
	if _, ok := errors.AsType[*projection.EventError](err); ok || errors.Is(err, errPanicked) {
		return true
	}
	refused, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return false
	}
	switch refused.Code[:min(2, len(refused.Code))] {
	case "22", "23", "54":
		return true
	}
	return false
}

// Transient reports whether an error is temporary, so that the same batch may succeed later. An
// error that is about an event is not, and neither is one that PostgreSQL returns because of the
// statement, such as that a table is missing. All other errors are temporary: those of the server
// and of the connection, also of one through a pooler.
func Transient(err error) bool {
	if OfEvent(err) {
		return false
	}
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return !ok || connection.OfServer(refused)
}

// applyOrBisect commits a batch. If an event cannot be applied, it finds the event by bisection,
// sets it aside and commits the others. If buffered events are part of the failed commit, they are
// discarded, and the subscription sends all of them again.
func (p *Projector) applyOrBisect(
	ctx context.Context, recorded []eventstore.Recorded, to eventstore.Position,
) error {
	buffered := p.pending != nil
	err := p.commit(ctx, recorded, to)
	if buffered {
		p.discardBuffered(to, err)
		return err
	}
	if err == nil || len(recorded) == 0 {
		return err
	}
	if !OfEvent(err) {
		return p.stopUnlessTransient(err)
	}
	if len(recorded) == 1 {
		return p.setAside(ctx, recorded[0], to, err)
	}
	cut := len(recorded) / 2
	if failed, ok := errors.AsType[*projection.EventError](err); ok {
		cut = max(failed.Index, 1) // the fold reports which event
	}
	if err := p.applyOrBisect(ctx, recorded[:cut], recorded[cut-1].Position); err != nil {
		return err
	}
	return p.applyOrBisect(ctx, recorded[cut:], to)
}

// setAside parks an event that cannot be applied. If too many streams are parked already, it stops
// the projection before the event.
func (p *Projector) setAside(
	ctx context.Context, r eventstore.Recorded, to eventstore.Position, cause error,
) error {
	failed, ok := errors.AsType[*projection.EventError](cause)
	if !ok {
		failed = projection.NewEventError(r, 0, cause)
	}
	_, known := p.parked[r.Stream]
	if known || p.discarded.Has(r) || len(p.parked) < p.maxParked {
		return p.park(ctx, r, to, failed)
	}
	return p.stopUnlessTransient(fmt.Errorf(
		"%w (streams that are set aside already: %d, no more may be)", failed, len(p.parked),
	))
}

// stopUnlessTransient makes the projection wait for retryInterval after an error that will come
// again. It returns the error.
func (p *Projector) stopUnlessTransient(err error) error {
	if !Transient(err) {
		p.retryAt = time.Now().Add(retryInterval)
	}
	return err
}

// waitIfStopped waits while the projection is stopped: until retryInterval has passed or an
// operator resumes it.
func (p *Projector) waitIfStopped(ctx context.Context) error {
	p.mu.Lock()
	wait := time.Until(p.retryAt)
	stopped := !p.retryAt.IsZero()
	p.retryAt = time.Time{}
	p.mu.Unlock()
	if !stopped {
		return nil
	}
	p.status.SetStopped(true)
	defer p.status.SetStopped(false)
	select { // store the state in the database now
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
