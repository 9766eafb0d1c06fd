package queries

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"linkledger/projections/readmodel"
)

const (
	// ownerInterval is how often a Freshness looks for projections without an owner while it has waiters.
	ownerInterval = 200 * time.Millisecond
	// ownerPatience is how long waiters bear with a projection without an owner: a killed owner is followed sooner.
	ownerPatience = 500 * time.Millisecond
)

// ErrUnowned means that a projection does not go on: no process owns it, or it is paused, or its owner
// has stopped before an event that it cannot apply.
var ErrUnowned = errors.New("no process keeps the projection up to date")

// ownership is what a Freshness knows of the owner of a projection.
type ownership struct {
	vacantSince time.Time     // zero: it has an owner that goes on
	abandoned   chan struct{} // closed when it has been without one for ownerPatience; nil: nobody has asked
	unowned     bool          // abandoned is closed
}

// observe notes whether the projection has an owner that goes on, and releases the waiters when it has been without
// one for ownerPatience. It returns whether unowned has changed.
func (o *ownership) observe(vacant bool, now time.Time) bool {
	before := o.unowned
	switch {
	case !vacant && o.unowned:
		*o = ownership{}
	case !vacant:
		o.vacantSince = time.Time{}
	case o.vacantSince.IsZero():
		o.vacantSince = now
	case !o.unowned && now.Sub(o.vacantSince) >= ownerPatience:
		o.unowned = true
		close(o.giveUp())
	}
	return o.unowned != before
}

// giveUp returns what is closed when waiters give up.
func (o *ownership) giveUp() chan struct{} {
	if o.abandoned == nil {
		o.abandoned = make(chan struct{})
	}
	return o.abandoned
}

// WaitOwned is Wait, but fails with ErrUnowned at once where the projection has had no owner for a while.
func (f *Freshness) WaitOwned(ctx context.Context, projection string, position uint64) error {
	w, abandoned := f.enlistOwned(projection, position)
	if w == nil {
		return nil
	}
	select {
	case <-w.reached:
		return nil
	case <-abandoned:
		return f.leave(w, projection, ErrUnowned)
	case <-ctx.Done():
		return f.leave(w, projection, ctx.Err())
	}
}

func (f *Freshness) enlistOwned(projection string, position uint64) (*waiter, <-chan struct{}) {
	w := f.enlist(projection, position)
	if w == nil {
		return nil, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return w, f.progress(projection).owner.giveUp()
}

// leave removes a waiter that gives up for a reason, and returns the reason. It returns nil where the
// waiter's position was reached meanwhile.
func (f *Freshness) leave(w *waiter, projection string, reason error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if w.place < 0 {
		return nil
	}
	heap.Remove(&f.progress(projection).waiters, w.place)
	return reason
}

// watchOwners looks for projections without an owner while somebody waits, or while there are some.
func (f *Freshness) watchOwners(ctx context.Context) {
	ticker := time.NewTicker(ownerInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if !f.awaited() && !f.abandoned() {
			continue
		}
		if err := f.lookForOwners(ctx); err != nil && ctx.Err() == nil {
			f.report(err)
		}
	}
}

// abandoned reports whether a projection is known to have no owner.
func (f *Freshness) abandoned() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.projections {
		if !p.owner.vacantSince.IsZero() {
			return true
		}
	}
	return false
}

func (f *Freshness) lookForOwners(ctx context.Context) error {
	var vacant []string
	if err := f.db.NewRaw("SELECT name FROM linkledger.generations WHERE serving AND (paused OR stopped OR "+
		readmodel.Vacant+")").Scan(ctx, &vacant); err != nil {
		return fmt.Errorf("look for owners of the projections: %w", err)
	}
	for name, unowned := range f.observeOwners(vacant, time.Now()) {
		if f.OnUnowned != nil {
			f.OnUnowned(name, unowned)
		}
	}
	return nil
}

// observeOwners returns the projections that are unowned now and were not, or the other way round.
func (f *Freshness) observeOwners(vacant []string, now time.Time) map[string]bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	changed := make(map[string]bool)
	for name, p := range f.projections {
		if p.owner.observe(slices.Contains(vacant, name), now) {
			changed[name] = p.owner.unowned
		}
	}
	return changed
}
