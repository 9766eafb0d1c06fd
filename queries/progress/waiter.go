// Package progress lets callers wait until the projections have committed the events that the
// callers want to read.
package progress

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"linkledger/projections/readmodel"
)

// fallbackInterval is how often the checkpoints are read while callers wait, in case notifications
// are lost without an error of the connection.
const fallbackInterval = 2 * time.Second

// Cache keeps copies of data of projections. Its methods MUST NOT block.
type Cache interface {
	// Changed is called with the keys of a projection that have changed: hashes of links, ids of
	// accounts, or readmodel.Everything.
	Changed(projection string, keys []string)
	// SetConnected is called with true when calls of Changed begin to report all changes, and with
	// false when they no longer report all.
	SetConnected(connected bool)
	// Missed is called if Changed was not called for some changes.
	Missed()
}

// Waiter waits until the read models have caught up with a write. Projectors of this process report
// their progress with Committed, and projectors of other processes with PostgreSQL notifications. A
// waiting call needs no polling of its own. Waiter is safe for concurrent use.
type Waiter struct {
	// OnError is called with the reason when the notifications are interrupted, before they are
	// resumed; may be nil. It is set before Run.
	OnError func(error)
	// Caches are called with changes before any waiting call returns because of them. They are set
	// before Run.
	Caches []Cache
	// OnUnowned is called when a projection has no owner, so that calls no longer wait for it, and
	// when it has one again; may be nil. It is set before Run.
	OnUnowned func(projection string, unowned bool)

	db       *readmodel.DB
	fallback time.Duration

	mu          sync.Mutex
	projections map[string]*state
	told        bool // notifications report the events that are set aside
}

// state is the known progress of one projection, with the calls that wait for more. Its positions
// are commit positions.
type state struct {
	position   uint64 // reached by the projection
	cachesUpTo uint64 // the caches have the changes up to here
	lastChange uint64 // the last change of a key is here or before
	setAside   setAside
	demand     demandState
	owner      ownership
	waiters    pendingHeap
}

// NewWaiter returns a Waiter of a prepared database. It has no progress before Run or Committed.
func NewWaiter(db *readmodel.DB) *Waiter {
	return &Waiter{db: db, fallback: fallbackInterval, projections: make(map[string]*state)}
}

// Committed records that a projection has committed everything up to a commit position, and which
// keys have changed since the last call: hashes of links, ids of accounts. The caches are updated
// first. PostgreSQL notifies of the commits of this process too, but the caches are updated only
// once for a commit. Committed does not block.
func (w *Waiter) Committed(projection string, position uint64, changed []string) {
	w.mu.Lock()
	updated := position <= w.state(projection).cachesUpTo
	w.mu.Unlock()
	if !updated || slices.Contains(changed, readmodel.Everything) {
		w.notifyChanged(projection, changed)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.state(projection)
	if slices.Contains(changed, readmodel.Everything) {
		// Another generation serves now. If it was built from an older log, its position is lower.
		p.position, p.cachesUpTo, p.lastChange = min(p.position, position), 0, 0
	}
	p.cachesUpTo = max(p.cachesUpTo, position)
	if len(changed) > 0 {
		p.lastChange = max(p.lastChange, position)
	}
	p.setAside.noteChanged(changed)
	p.advance(position)
}

// advance records that a projection has reached a position, and may have changed keys on the way.
// It ignores positions that are known already.
func (w *Waiter) advance(projection string, position uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.state(projection)
	if position > p.position {
		p.lastChange = position
	}
	p.advance(position)
}

func (p *state) advance(position uint64) {
	if position <= p.position {
		return
	}
	p.position = position
	for len(p.waiters) > 0 && p.waiters[0].position <= position {
		//nolint:forcetypeassert // the heap has no others
		reached := heap.Pop(&p.waiters).(*pending)
		close(reached.reached)
	}
}

// Wait returns nil as soon as the projection has committed everything up to the commit position, or
// the error of ctx if ctx ends first.
func (w *Waiter) Wait(ctx context.Context, projection string, position uint64) error {
	wait := w.enqueue(projection, position)
	if wait == nil {
		return nil
	}
	select {
	case <-wait.reached:
		return nil
	case <-ctx.Done():
		return w.remove(wait, projection, ctx.Err())
	}
}

// WaitForOthers waits, as WaitOwned does, until a projection has reached the last known change of
// keys in the projections others.
func (w *Waiter) WaitForOthers(ctx context.Context, projection string, others ...string) error {
	var position uint64
	w.mu.Lock()
	for _, other := range others {
		position = max(position, w.state(other).lastChange)
	}
	w.mu.Unlock()
	return w.WaitOwned(ctx, projection, position)
}

// enqueue returns a waiter for the position, or nil if the position is reached already.
func (w *Waiter) enqueue(projection string, position uint64) *pending {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.state(projection)
	if position <= p.position {
		return nil
	}
	wait := &pending{position: position, reached: make(chan struct{})}
	heap.Push(&p.waiters, wait)
	return wait
}

// remove removes a waiter that gives up, and returns the reason. It returns nil if the waiter's
// position was reached meanwhile.
func (w *Waiter) remove(wait *pending, projection string, reason error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if wait.index < 0 {
		return nil
	}
	heap.Remove(&w.state(projection).waiters, wait.index)
	return reason
}

// state returns the state of a projection. The caller MUST hold w.mu.
func (w *Waiter) state(projection string) *state {
	p, ok := w.projections[projection]
	if !ok {
		p = &state{}
		w.projections[projection] = p
	}
	return p
}

func (w *Waiter) hasWaiters() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.projections {
		if len(p.waiters) > 0 {
			return true
		}
	}
	return false
}

// Run receives the notifications until ctx ends. It holds one connection of its own, and reconnects
// without limit.
func (w *Waiter) Run(ctx context.Context) {
	var polling sync.WaitGroup
	polling.Go(func() { w.poll(ctx) })
	polling.Go(func() { w.watchOwners(ctx) })
	defer polling.Wait()
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = 50*time.Millisecond, 500*time.Millisecond
	for {
		err := w.listen(ctx, wait.Reset)
		if ctx.Err() != nil {
			return
		}
		w.report(err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait.NextBackOff()):
		}
	}
}

// listen receives the notifications over one connection until it fails.
func (w *Waiter) listen(ctx context.Context, connected func()) (err error) {
	conn, err := w.db.Listen(ctx, readmodel.Channel)
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		err = errors.Join(err, conn.Close(closing))
	}()
	// LISTEN has taken effect by now. So later commits are notified, and earlier ones are in the
	// checkpoints.
	w.setConnected(true)
	defer w.setConnected(false)
	w.setTold(true)
	defer w.setTold(false)
	if err := w.readCheckpoints(ctx); err != nil {
		return err
	}
	connected()
	changed := make(map[string][]string)
	for {
		notification, err := readmodel.NextNotification(ctx, conn)
		if err != nil {
			return fmt.Errorf("wait for notifications: %w", err)
		}
		if err := w.handle(notification, changed); err != nil {
			return fmt.Errorf("notification %q: %w", notification, err)
		}
	}
}

// handle handles a notification in the form of readmodel.Channel. It collects the changed keys of a
// projection until a notification gives the position that was reached with these changes.
func (w *Waiter) handle(notification string, changed map[string][]string) error {
	projection, rest, _ := strings.Cut(notification, " ")
	if keys, ok := strings.CutPrefix(rest, readmodel.Changed); ok {
		changed[projection] = append(changed[projection], strings.Fields(keys)...)
		return nil
	}
	position, err := strconv.ParseUint(rest, 10, 64)
	if err != nil {
		return err
	}
	w.Committed(projection, position, changed[projection])
	delete(changed, projection)
	return nil
}

// notifyChanged reports changed keys of a projection to the caches.
func (w *Waiter) notifyChanged(projection string, keys []string) {
	if len(keys) == 0 {
		return
	}
	for _, cache := range w.Caches {
		cache.Changed(projection, keys)
	}
}

// setConnected reports to the caches whether they get all changes.
func (w *Waiter) setConnected(connected bool) {
	for _, cache := range w.Caches {
		cache.SetConnected(connected)
	}
}

// notifyMissed reports to the caches that changes have been missed.
func (w *Waiter) notifyMissed() {
	for _, cache := range w.Caches {
		cache.Missed()
	}
}

// readCheckpoints advances all projections to the checkpoints in the database.
func (w *Waiter) readCheckpoints(ctx context.Context) error {
	reached, err := w.checkpoints(ctx)
	if err != nil {
		return err
	}
	w.forgetHigher(reached)
	w.advanceAll(reached)
	return nil
}

// forgetHigher forgets positions above the checkpoints in the database. A database with lower
// checkpoints has lost commits in a crash, or is another one. The commits come again, and with them
// the changes of keys.
func (w *Waiter) forgetHigher(checkpoints map[string]uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, p := range w.projections {
		if position := checkpoints[name]; position < p.position {
			p.position = position
		}
		p.cachesUpTo = min(p.cachesUpTo, p.position)
	}
}

func (w *Waiter) checkpoints(ctx context.Context) (map[string]uint64, error) {
	var rows []readmodel.Generation
	if err := w.db.NewSelect().Model(&rows).Where("serving").Scan(ctx); err != nil {
		return nil, fmt.Errorf("read the checkpoints: %w", err)
	}
	reached := make(map[string]uint64, len(rows))
	for _, row := range rows {
		reached[row.Name] = uint64(row.CommitPos) //nolint:gosec // never negative
	}
	return reached, nil
}

func (w *Waiter) advanceAll(reached map[string]uint64) {
	for projection, position := range reached {
		w.advance(projection, position)
	}
}

// poll reads the checkpoints regularly while callers wait. If no notification of a position has
// come by the next reading, the notification is lost.
func (w *Waiter) poll(ctx context.Context) {
	ticker := time.NewTicker(w.fallback)
	defer ticker.Stop()
	var before map[string]uint64
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if w.behind(before) {
			w.notifyMissed()
			w.forgetSetAside()
			w.advanceAll(before)
		}
		before = nil
		if !w.hasWaiters() {
			continue
		}
		var err error
		if before, err = w.checkpoints(ctx); err != nil && ctx.Err() == nil {
			w.report(err)
		}
	}
}

// behind reports whether one of the positions is not known to be reached.
func (w *Waiter) behind(reached map[string]uint64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for projection, position := range reached {
		if w.state(projection).position < position {
			return true
		}
	}
	return false
}

func (w *Waiter) report(err error) {
	if w.OnError != nil {
		w.OnError(err)
	}
}
