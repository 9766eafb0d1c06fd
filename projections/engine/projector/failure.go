package projector

import (
	"context"
	"errors"
	"fmt"
	"time"

	"linkledger/events/eventstore"
	"linkledger/projections/engine/failure"
	"linkledger/projections/projection"
)

// DefaultMaxParked is how many streams of a generation may have events that are set aside. If there
// are more, the program is at fault rather than the events, so the projection stops.
const DefaultMaxParked = 10_000

// retryInterval is how long a stopped projection waits before it tries again. So after the cause is
// removed, it continues without a command of the operator.
const retryInterval = time.Minute

// applyOrBisect commits a batch. If an event cannot be applied, applyOrBisect finds it by
// bisection, sets it aside and commits the other events. If a failed commit has buffered events,
// applyOrBisect discards them, and the subscription sends all events of the commit again.
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
	if !failure.OfEvent(err) {
		return p.stopUnlessTransient(err)
	}
	if len(recorded) == 1 {
		return p.setAside(ctx, recorded[0], to, err)
	}
	cut := len(recorded) / 2
	if failed, ok := errors.AsType[*projection.EventError](err); ok {
		cut = max(failed.Index, 1) // the fold says which event it refuses
	}
	if err := p.applyOrBisect(ctx, recorded[:cut], recorded[cut-1].Position); err != nil {
		return err
	}
	return p.applyOrBisect(ctx, recorded[cut:], to)
}

// setAside makes an event that cannot be applied a dead letter. If too many streams have dead
// letters already, it stops the projection before the event.
func (p *Projector) setAside(
	ctx context.Context, r eventstore.Recorded, to eventstore.Position, cause error,
) error {
	failed, ok := errors.AsType[*projection.EventError](cause)
	if !ok {
		failed = projection.NewEventError(r, 0, cause)
	}
	_, known := p.parked[r.Stream]
	if known || p.discarded.Has(r) || len(p.parked) < p.cfg.MaxParked {
		return p.park(ctx, r, to, failed)
	}
	return p.stopUnlessTransient(fmt.Errorf(
		"%w (streams that are set aside already: %d, no more are allowed)", failed, len(p.parked),
	))
}

// stopUnlessTransient makes the projection wait for retryInterval after an error that will come
// again. It returns the error.
func (p *Projector) stopUnlessTransient(err error) error {
	if !failure.Transient(err) {
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
	p.cfg.Status.SetStopped(true)
	defer p.cfg.Status.SetStopped(false)
	select { // the leaseholder then stores the state in the database at once
	case p.cfg.Stopped <- struct{}{}:
	default:
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.cfg.Resume:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}
