package queries

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

// fallbackInterval is how often the checkpoints are read while someone waits, in case that notifications are lost
// without the connection noticing.
const fallbackInterval = 2 * time.Second

// Freshness tells when the read models have caught up with a write. It learns of progress from Committed, when the
// projectors run in this process, and from PostgreSQL's notifications, when they run elsewhere. It is safe for
// concurrent use; a waiter costs nothing until its position is reached.
type Freshness struct {
	// OnError learns why the notifications were interrupted, before they are taken up again; may be nil. It is set
	// before Run.
	OnError func(error)
	// Targets are told of what changes before anybody is told that it did; may be nil. Set before Run.
	Targets *Targets
	// Accounts are told likewise; may be nil. Set before Run.
	Accounts *Accounts
	// OnUnowned learns that a projection is without an owner, so that nobody waits for it any more, or that it has one
	// again; may be nil. Set before Run.
	OnUnowned func(projection string, unowned bool)

	db       *readmodel.DB
	fallback time.Duration

	mu          sync.Mutex
	projections map[string]*progress
}

// progress is how far one projection is known to have got, and who waits for more.
type progress struct {
	position uint64
	told     uint64 // up to here those who keep copies know what has changed
	changed  uint64 // here or before lies the last change of a key
	demanded demanded
	owner    ownership
	waiters  waiters
}

// NewFreshness returns a Freshness of a prepared database. It knows of nothing before Run or Committed.
func NewFreshness(db *readmodel.DB) *Freshness {
	return &Freshness{db: db, fallback: fallbackInterval, projections: make(map[string]*progress)}
}

// Committed notes that a projection has committed everything up to a commit position, and which keys have changed since
// the last one: hashes of links, ids of accounts. Those who keep copies are told first. Of what a projector of this process
// commits PostgreSQL tells once more; nobody forgets anything twice for that. It does not block.
func (f *Freshness) Committed(projection string, position uint64, changed []string) {
	f.mu.Lock()
	told := position <= f.progress(projection).told
	f.mu.Unlock()
	if !told || slices.Contains(changed, readmodel.Everything) {
		f.changed(projection, changed)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.progress(projection)
	p.told = max(p.told, position)
	if len(changed) > 0 {
		p.changed = max(p.changed, position)
	}
	p.advance(position)
}

// advance notes that a projection has got to a position, and has perhaps changed something on the way. One that is known
// already is ignored.
func (f *Freshness) advance(projection string, position uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.progress(projection)
	if position > p.position {
		p.changed = position
	}
	p.advance(position)
}

func (p *progress) advance(position uint64) {
	if position <= p.position {
		return
	}
	p.position = position
	for len(p.waiters) > 0 && p.waiters[0].position <= position {
		close(heap.Pop(&p.waiters).(*waiter).reached)
	}
}

// Wait returns nil as soon as the projection has committed everything up to the commit position, or the error of ctx
// when that ends first.
func (f *Freshness) Wait(ctx context.Context, projection string, position uint64) error {
	w := f.enlist(projection, position)
	if w == nil {
		return nil
	}
	select {
	case <-w.reached:
		return nil
	case <-ctx.Done():
		return f.leave(w, projection, ctx.Err())
	}
}

// Overtake is WaitOwned for the changes of keys that others are known to have.
func (f *Freshness) Overtake(ctx context.Context, projection string, others ...string) error {
	var position uint64
	f.mu.Lock()
	for _, other := range others {
		position = max(position, f.progress(other).changed)
	}
	f.mu.Unlock()
	return f.WaitOwned(ctx, projection, position)
}

// enlist returns nil when the position is reached already.
func (f *Freshness) enlist(projection string, position uint64) *waiter {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.progress(projection)
	if position <= p.position {
		return nil
	}
	w := &waiter{position: position, reached: make(chan struct{})}
	heap.Push(&p.waiters, w)
	return w
}

// progress returns the entry of a projection; f.mu is held.
func (f *Freshness) progress(projection string) *progress {
	p, ok := f.projections[projection]
	if !ok {
		p = &progress{}
		f.projections[projection] = p
	}
	return p
}

func (f *Freshness) awaited() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.projections {
		if len(p.waiters) > 0 {
			return true
		}
	}
	return false
}

// Run follows the notifications until ctx ends. It holds one connection of its own, and connects again for ever.
func (f *Freshness) Run(ctx context.Context) {
	var polling sync.WaitGroup
	polling.Go(func() { f.poll(ctx) })
	polling.Go(func() { f.watchOwners(ctx) })
	defer polling.Wait()
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = 50*time.Millisecond, 500*time.Millisecond
	for {
		err := f.listen(ctx, wait.Reset)
		if ctx.Err() != nil {
			return
		}
		f.report(err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait.NextBackOff()):
		}
	}
}

// listen follows the notifications over one connection until something fails.
func (f *Freshness) listen(ctx context.Context, connected func()) (err error) {
	conn, err := f.db.Listen(ctx, readmodel.Channel)
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		err = errors.Join(err, conn.Close(closing))
	}()
	// Only after LISTEN has taken effect: what commits from then on is notified, what committed before is read here.
	f.hears(true)
	defer f.hears(false)
	if err := f.read(ctx); err != nil {
		return err
	}
	connected()
	changed := make(map[string][]string)
	for {
		notification, err := readmodel.NextNotification(ctx, conn)
		if err != nil {
			return fmt.Errorf("wait for notifications: %w", err)
		}
		if err := f.hear(notification, changed); err != nil {
			return fmt.Errorf("notification %q: %w", notification, err)
		}
	}
}

// hear takes in a notification: of keys that changed, which it gathers by their projection, or of the position that was
// reached with them; readmodel.Channel has the form.
func (f *Freshness) hear(notification string, changed map[string][]string) error {
	projection, rest, _ := strings.Cut(notification, " ")
	if keys, ok := strings.CutPrefix(rest, readmodel.Changed); ok {
		changed[projection] = append(changed[projection], strings.Fields(keys)...)
		return nil
	}
	position, err := strconv.ParseUint(rest, 10, 64)
	if err != nil {
		return err
	}
	f.Committed(projection, position, changed[projection])
	delete(changed, projection)
	return nil
}

// changed tells those who keep copies which keys of a projection have changed.
func (f *Freshness) changed(projection string, keys []string) {
	if len(keys) == 0 {
		return
	}
	if f.Accounts != nil && projection == "accounts" {
		f.Accounts.Forget()
	}
	switch {
	case f.Targets == nil:
	case slices.Contains(keys, readmodel.Everything):
		f.Targets.missed()
	default:
		f.Targets.changed(projection, keys)
	}
}

// hears tells those who keep copies whether changes are heard of.
func (f *Freshness) hears(heard bool) {
	if f.Targets != nil {
		f.Targets.heard(heard)
	}
	if f.Accounts != nil {
		f.Accounts.hear(heard)
	}
}

// lost tells them that changes have been missed.
func (f *Freshness) lost() {
	if f.Targets != nil {
		f.Targets.missed()
	}
	if f.Accounts != nil {
		f.Accounts.Forget()
	}
}

// read takes over all checkpoints from the database.
func (f *Freshness) read(ctx context.Context) error {
	reached, err := f.checkpoints(ctx)
	if err != nil {
		return err
	}
	f.advanceAll(reached)
	return nil
}

func (f *Freshness) checkpoints(ctx context.Context) (map[string]uint64, error) {
	var rows []readmodel.Generation
	if err := f.db.NewSelect().Model(&rows).Where("serving").Scan(ctx); err != nil {
		return nil, fmt.Errorf("read the checkpoints: %w", err)
	}
	reached := make(map[string]uint64, len(rows))
	for _, row := range rows {
		reached[row.Name] = uint64(row.CommitPos) //nolint:gosec // never negative
	}
	return reached, nil
}

func (f *Freshness) advanceAll(reached map[string]uint64) {
	for projection, position := range reached {
		f.advance(projection, position)
	}
}

// poll reads the checkpoints now and then while someone waits. A position that was not announced until the next time
// never will be.
func (f *Freshness) poll(ctx context.Context) {
	ticker := time.NewTicker(f.fallback)
	defer ticker.Stop()
	var before map[string]uint64
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if f.missed(before) {
			f.lost()
			f.advanceAll(before)
		}
		before = nil
		if !f.awaited() {
			continue
		}
		var err error
		if before, err = f.checkpoints(ctx); err != nil && ctx.Err() == nil {
			f.report(err)
		}
	}
}

// missed tells whether a position is not known to be reached.
func (f *Freshness) missed(reached map[string]uint64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for projection, position := range reached {
		if f.progress(projection).position < position {
			return true
		}
	}
	return false
}

func (f *Freshness) report(err error) {
	if f.OnError != nil {
		f.OnError(err)
	}
}

// waiter waits for one position.
type waiter struct {
	position uint64
	reached  chan struct{} // closed when the position is
	place    int           // in the heap; -1 when no longer in it
}

// waiters is a heap, the lowest position first.
type waiters []*waiter

var _ heap.Interface = (*waiters)(nil)

func (w waiters) Len() int           { return len(w) }
func (w waiters) Less(i, j int) bool { return w[i].position < w[j].position }

func (w waiters) Swap(i, j int) {
	w[i], w[j] = w[j], w[i]
	w[i].place, w[j].place = i, j
}

// Push implements heap.Interface.
func (w *waiters) Push(x any) {
	added := x.(*waiter) //nolint:forcetypeassert // nothing else is pushed
	added.place = len(*w)
	*w = append(*w, added)
}

// Pop implements heap.Interface.
func (w *waiters) Pop() any {
	last := len(*w) - 1
	removed := (*w)[last]
	(*w)[last] = nil
	*w = (*w)[:last]
	removed.place = -1
	return removed
}
