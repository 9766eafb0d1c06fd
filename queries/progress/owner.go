package progress

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"linkledger/projections/readmodel/controlschema"
)

const (
	// ownerInterval is how often a Waiter checks for projections without an owner while callers
	// wait.
	ownerInterval = 200 * time.Millisecond
	// ownerTimeout is how long callers wait for a projection without an owner. The successor of a
	// killed owner takes over sooner.
	ownerTimeout = 500 * time.Millisecond
)

// ErrUnowned means that a projection makes no progress: no process owns it, or it is paused, or its
// owner has stopped before an event that it cannot apply.
var ErrUnowned = errors.New("no process keeps the projection up to date")

// ownership records whether a projection has an owner that makes progress, as far as a Waiter has
// observed. Without such an owner, the projection is vacant.
type ownership struct {
	vacantSince time.Time // zero: it has an owner that makes progress
	// abandoned is closed when the projection has been vacant for ownerTimeout; nil: not in use.
	abandoned chan struct{}
	unowned   bool // abandoned is closed
}

// observe records whether the projection is vacant, and releases the waiters if it has been vacant
// for ownerTimeout. It returns whether unowned has changed.
func (o *ownership) observe(vacant bool, now time.Time) bool {
	before := o.unowned
	switch {
	case !vacant && o.unowned:
		*o = ownership{}
	case !vacant:
		o.vacantSince = time.Time{}
	case o.vacantSince.IsZero():
		o.vacantSince = now
	case !o.unowned && now.Sub(o.vacantSince) >= ownerTimeout:
		o.unowned = true
		close(o.abandonedSignal())
	}
	return o.unowned != before
}

// abandonedSignal returns the channel that is closed when waiters must give up.
func (o *ownership) abandonedSignal() chan struct{} {
	if o.abandoned == nil {
		o.abandoned = make(chan struct{})
	}
	return o.abandoned
}

// WaitOwned is Wait, but returns ErrUnowned as soon as the projection has had no owner for half a
// second.
func (w *Waiter) WaitOwned(ctx context.Context, projection string, position uint64) error {
	wait, abandoned := w.enqueueOwned(projection, position)
	if wait == nil {
		return nil
	}
	select {
	case <-wait.reached:
		return nil
	case <-abandoned:
		return w.remove(wait, projection, ErrUnowned)
	case <-ctx.Done():
		return w.remove(wait, projection, ctx.Err())
	}
}

func (w *Waiter) enqueueOwned(projection string, position uint64) (*pending, <-chan struct{}) {
	wait := w.enqueue(projection, position)
	if wait == nil {
		return nil, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return wait, w.state(projection).owner.abandonedSignal()
}

// watchOwners checks for projections without an owner while callers wait or a projection is vacant.
func (w *Waiter) watchOwners(ctx context.Context) {
	ticker := time.NewTicker(ownerInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if !w.hasWaiters() && !w.hasVacant() {
			continue
		}
		if err := w.checkOwners(ctx); err != nil && ctx.Err() == nil {
			w.report(err)
		}
	}
}

// hasVacant reports whether a projection is known to have no owner.
func (w *Waiter) hasVacant() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.projections {
		if !p.owner.vacantSince.IsZero() {
			return true
		}
	}
	return false
}

func (w *Waiter) checkOwners(ctx context.Context) error {
	var vacant []string
	err := w.db.NewRaw("SELECT name FROM linkledger.generations WHERE serving AND "+
		"(paused OR stopped OR "+controlschema.Vacant+")").Scan(ctx, &vacant)
	if err != nil {
		return fmt.Errorf("look for owners of the projections: %w", err)
	}
	for name, unowned := range w.observeOwners(vacant, time.Now()) {
		if w.OnUnowned != nil {
			w.OnUnowned(name, unowned)
		}
	}
	return nil
}

// observeOwners records which projections are vacant. It returns the projections for which the
// field unowned has changed, with the new value.
func (w *Waiter) observeOwners(vacant []string, now time.Time) map[string]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	changed := make(map[string]bool)
	for name, p := range w.projections {
		if p.owner.observe(slices.Contains(vacant, name), now) {
			changed[name] = p.owner.unowned
		}
	}
	return changed
}
