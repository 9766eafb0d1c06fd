package queries

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"
)

const (
	// StaleBound is the most that a target from memory lags behind while the notifications are interrupted and the
	// database answers. Without an answer the target in memory stands until there is one.
	StaleBound = time.Second
	// loadTimeout bounds one look-up of a target.
	loadTimeout = 5 * time.Second
	// renewTimeout is the most that a visitor waits for a look-up when an older target is in memory.
	renewTimeout = 250 * time.Millisecond
	// targetOverhead is about what a target takes in memory beside its texts, in bytes.
	targetOverhead = 320
)

// Targets answers Target from memory. It holds what was asked for most within a number of bytes, unknown hashes too,
// and asks the database once per missing hash however many visitors wait. Freshness tells it what has changed, before
// it tells that a write has reached the read models: who has seen the answer to a write sees its effect here.
//
// A target that is looked up while its hash changes is given to those who asked before the change, and not kept. It is
// safe for concurrent use.
type Targets struct {
	find  func(ctx context.Context, hash string) (Target, error)
	cache *otter.Cache[string, *knownTarget]

	// epoch is even while changes are heard of, and is another one whenever some may have been missed.
	epoch atomic.Uint64
	// retryAt is when the database is to be tried again after it gave no answer, in Unix nanoseconds; 0: it answers.
	retryAt atomic.Int64

	mu      sync.Mutex
	lookups map[string]*lookup // under way, by hash

	hits, misses atomic.Uint64
}

// knownTarget is an entry of the cache.
type knownTarget struct {
	target Target
	err    error     // nil or about ErrNotFound
	epoch  uint64    // in which the look-up began
	at     time.Time // when it began
}

// lookup is a question to the database that many may wait for.
type lookup struct {
	done  chan struct{} // closed when the rest is valid
	known *knownTarget  // nil: the database gave no answer
	err   error         // why
}

// NewTargets returns the targets of a database, which take up to size bytes of memory. Until a Freshness that runs is
// told of them, they are at most StaleBound old.
func NewTargets(db *DB, size uint64) (*Targets, error) { return newTargets(db.Target, size) }

func newTargets(find func(context.Context, string) (Target, error), size uint64) (*Targets, error) {
	cache, err := otter.New(&otter.Options[string, *knownTarget]{
		MaximumWeight: size,
		Weigher: func(hash string, known *knownTarget) uint32 {
			return uint32(targetOverhead + len(hash) + len(known.target.LongURL)) //nolint:gosec // both are short
		},
	})
	if err != nil {
		return nil, fmt.Errorf("cache of targets: %w", err)
	}
	t := &Targets{find: find, cache: cache, lookups: make(map[string]*lookup)}
	t.epoch.Store(1)
	return t, nil
}

// Find returns what DB.Target returns, and fails as it does.
func (t *Targets) Find(ctx context.Context, hash string) (Target, error) {
	known, ok := t.cache.GetIfPresent(hash)
	if ok && t.current(known) {
		t.hits.Add(1)
		return known.target, known.err
	}
	t.misses.Add(1)
	if !ok {
		return t.ask(ctx, hash)
	}
	return t.renew(ctx, hash, known)
}

// current tells whether an entry needs no new look-up.
func (t *Targets) current(known *knownTarget) bool {
	epoch := t.epoch.Load()
	return known.epoch == epoch && (epoch%2 == 0 || time.Since(known.at) < StaleBound)
}

// renew looks up an entry that may be stale. It stands as long as the database gives no answer; in that time one
// visitor tries again every StaleBound.
func (t *Targets) renew(ctx context.Context, hash string, known *knownTarget) (Target, error) {
	if at := t.retryAt.Load(); at != 0 {
		now := time.Now()
		if now.UnixNano() < at || !t.retryAt.CompareAndSwap(at, now.Add(StaleBound).UnixNano()) {
			return known.target, known.err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, renewTimeout)
	defer cancel()
	target, err := t.ask(ctx, hash)
	if err == nil || errors.Is(err, ErrNotFound) {
		return target, err
	}
	t.gaveNoAnswer()
	return known.target, known.err
}

// ask waits for the look-up of a hash, or begins it. It goes on when the caller leaves: others may be waiting.
func (t *Targets) ask(ctx context.Context, hash string) (Target, error) {
	t.mu.Lock()
	l, ok := t.lookups[hash]
	if !ok {
		hash = strings.Clone(hash) // often part of a whole request, which would be kept with it
		l = &lookup{done: make(chan struct{})}
		t.lookups[hash] = l
		go t.look(context.WithoutCancel(ctx), hash, l)
	}
	t.mu.Unlock()
	select {
	case <-l.done:
	case <-ctx.Done():
		return Target{}, failed("target", ctx.Err())
	}
	if l.known == nil {
		return Target{}, l.err
	}
	return l.known.target, l.known.err
}

// look asks the database. The answer is kept unless the hash has changed since the question: then the look-up is no
// longer the one under way.
func (t *Targets) look(ctx context.Context, hash string, l *lookup) {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	defer close(l.done)
	known := &knownTarget{epoch: t.epoch.Load(), at: time.Now()}
	known.target, known.err = t.find(ctx, hash)
	if known.err == nil || errors.Is(known.err, ErrNotFound) {
		l.known = known
		t.retryAt.Store(0)
	} else {
		l.err = known.err
		t.gaveNoAnswer()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lookups[hash] != l {
		return
	}
	delete(t.lookups, hash)
	if l.known != nil {
		t.cache.Set(hash, known)
	}
}

func (t *Targets) gaveNoAnswer() { t.retryAt.Store(time.Now().Add(StaleBound).UnixNano()) }

// changed forgets the targets that depend on what has changed in a projection.
func (t *Targets) changed(projection string, keys []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch projection {
	case "links":
		for _, hash := range keys {
			delete(t.lookups, hash)
			t.cache.Invalidate(hash)
		}
	case "accounts":
		clear(t.lookups) // whose they are is not known yet
		for hash, known := range t.cache.All() {
			if slices.Contains(keys, known.target.Owner.String()) {
				t.cache.Invalidate(hash)
			}
		}
	}
}

// heard notes whether changes are heard of from now on. What is in memory may have missed some: it is looked up again
// when it is next asked for.
func (t *Targets) heard(are bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	next := t.epoch.Load() + 1
	if (next%2 == 0) != are {
		next++
	}
	t.epoch.Store(next)
	clear(t.lookups) // they began before
}

// missed notes that changes have been missed.
func (t *Targets) missed() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.epoch.Add(2)
	clear(t.lookups)
}

// TargetsStats tells how the memory of targets is used.
type TargetsStats struct {
	Bytes        uint64
	Entries      int
	Hits, Misses uint64 // since the start
}

// Stats returns the use of the memory so far.
func (t *Targets) Stats() TargetsStats {
	return TargetsStats{
		Bytes: t.cache.WeightedSize(), Entries: t.cache.EstimatedSize(), Hits: t.hits.Load(), Misses: t.misses.Load(),
	}
}
