// Package cache answers from memory the questions that most requests ask: where a short link leads,
// and whose account a user name is.
package cache

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

	"linkledger/projections/readmodel"
	"linkledger/queries"
)

const (
	// StaleBound is the most that a redirect from memory lags behind while the notifications are
	// interrupted and the database answers. Without an answer the redirect in memory stands until
	// there is one.
	StaleBound = time.Second
	// loadTimeout bounds one look-up of a target.
	loadTimeout = 5 * time.Second
	// renewTimeout is the most that a visitor waits for a look-up when an older redirect is in
	// memory.
	renewTimeout = 250 * time.Millisecond
	// redirectOverhead is about what a redirect takes in memory beside its texts, in bytes.
	redirectOverhead = 320
)

// Redirects answers DB.Redirect from memory. It holds what was asked for most within a number of
// bytes, unknown hashes too, and asks the database once per missing hash however many visitors
// wait. A progress.Waiter tells it what has changed, before it tells that a write has reached the
// read models: who has seen the answer to a write sees its effect here.
//
// A redirect that is looked up while its hash changes is given to those who asked before the
// change, and not kept. It is safe for concurrent use.
type Redirects struct {
	find  func(ctx context.Context, hash string) (queries.Redirect, error)
	cache *otter.Cache[string, *cachedRedirect]

	// epoch is even while changes are heard of, and is another one whenever some may have been
	// missed.
	epoch atomic.Uint64
	// retryAt is when the database is to be tried again after it gave no answer, in Unix
	// nanoseconds; 0: it answers.
	retryAt atomic.Int64

	mu      sync.Mutex
	lookups map[string]*lookup // under way, by hash

	hits, misses atomic.Uint64
}

// cachedRedirect is an entry of the cache.
type cachedRedirect struct {
	redirect queries.Redirect
	err      error     // nil or about queries.ErrNotFound
	epoch    uint64    // in which the look-up began
	at       time.Time // when it began
}

// lookup is a question to the database that many may wait for.
type lookup struct {
	done  chan struct{}   // closed when the rest is valid
	entry *cachedRedirect // nil: the database gave no answer
	err   error           // why
}

// NewRedirects returns the redirects of a database, which take up to size bytes of memory. Until a
// progress.Waiter that runs is told of them, they are at most StaleBound old.
func NewRedirects(db *queries.DB, size uint64) (*Redirects, error) {
	return newRedirects(db.Redirect, size)
}

func newRedirects(
	find func(context.Context, string) (queries.Redirect, error), size uint64,
) (*Redirects, error) {
	cache, err := otter.New(&otter.Options[string, *cachedRedirect]{
		MaximumWeight: size,
		Weigher: func(hash string, entry *cachedRedirect) uint32 {
			//nolint:gosec // both are short
			return uint32(redirectOverhead + len(hash) + len(entry.redirect.LongURL))
		},
	})
	if err != nil {
		return nil, fmt.Errorf("cache of redirects: %w", err)
	}
	r := &Redirects{find: find, cache: cache, lookups: make(map[string]*lookup)}
	r.epoch.Store(1)
	return r, nil
}

// Find returns what DB.Redirect returns, and fails as it does.
func (r *Redirects) Find(ctx context.Context, hash string) (queries.Redirect, error) {
	entry, ok := r.cache.GetIfPresent(hash)
	if ok && r.current(entry) {
		r.hits.Add(1)
		return entry.redirect, entry.err
	}
	r.misses.Add(1)
	if !ok {
		return r.lookUp(ctx, hash)
	}
	return r.renew(ctx, hash, entry)
}

// current tells whether an entry needs no new look-up.
func (r *Redirects) current(entry *cachedRedirect) bool {
	epoch := r.epoch.Load()
	return entry.epoch == epoch && (epoch%2 == 0 || time.Since(entry.at) < StaleBound)
}

// renew looks up an entry that may be stale. It stands as long as the database gives no answer; in
// that time one visitor tries again every StaleBound.
func (r *Redirects) renew(
	ctx context.Context, hash string, entry *cachedRedirect,
) (queries.Redirect, error) {
	if at := r.retryAt.Load(); at != 0 {
		now := time.Now()
		if now.UnixNano() < at || !r.retryAt.CompareAndSwap(at, now.Add(StaleBound).UnixNano()) {
			return entry.redirect, entry.err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, renewTimeout)
	defer cancel()
	redirect, err := r.lookUp(ctx, hash)
	if err == nil || errors.Is(err, queries.ErrNotFound) {
		return redirect, err
	}
	r.noteFailure()
	return entry.redirect, entry.err
}

// lookUp waits for the look-up of a hash, or begins it. It goes on when the caller leaves: others may
// be waiting.
func (r *Redirects) lookUp(ctx context.Context, hash string) (queries.Redirect, error) {
	r.mu.Lock()
	l, ok := r.lookups[hash]
	if !ok {
		hash = strings.Clone(hash) // often part of a whole request, which would be kept with it
		l = &lookup{done: make(chan struct{})}
		r.lookups[hash] = l
		go r.load(context.WithoutCancel(ctx), hash, l)
	}
	r.mu.Unlock()
	select {
	case <-l.done:
	case <-ctx.Done():
		return queries.Redirect{}, fmt.Errorf("redirect: %w", ctx.Err())
	}
	if l.entry == nil {
		return queries.Redirect{}, l.err
	}
	return l.entry.redirect, l.entry.err
}

// load asks the database. The answer is kept unless the hash has changed since the question: then
// the look-up is no longer the one under way.
func (r *Redirects) load(ctx context.Context, hash string, l *lookup) {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	defer close(l.done)
	entry := &cachedRedirect{epoch: r.epoch.Load(), at: time.Now()}
	entry.redirect, entry.err = r.find(ctx, hash)
	if entry.err == nil || errors.Is(entry.err, queries.ErrNotFound) {
		l.entry = entry
		r.retryAt.Store(0)
	} else {
		l.err = entry.err
		r.noteFailure()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lookups[hash] != l {
		return
	}
	delete(r.lookups, hash)
	if l.entry != nil {
		r.cache.Set(hash, entry)
	}
}

func (r *Redirects) noteFailure() { r.retryAt.Store(time.Now().Add(StaleBound).UnixNano()) }

// Changed forgets the redirects that depend on what has changed in a projection.
func (r *Redirects) Changed(projection string, keys []string) {
	if slices.Contains(keys, readmodel.Everything) {
		r.Missed()
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch projection {
	case "links":
		for _, hash := range keys {
			delete(r.lookups, hash)
			r.cache.Invalidate(hash)
		}
	case "accounts":
		clear(r.lookups) // whose they are is not known yet
		for hash, entry := range r.cache.All() {
			if slices.Contains(keys, entry.redirect.Owner.String()) {
				r.cache.Invalidate(hash)
			}
		}
	}
}

// SetConnected notes whether changes are heard of from now on. What is in memory may have missed some: it
// is looked up again when it is next asked for.
func (r *Redirects) SetConnected(connected bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.epoch.Load() + 1
	if (next%2 == 0) != connected {
		next++
	}
	r.epoch.Store(next)
	clear(r.lookups) // they began before
}

// Missed notes that changes have been missed.
func (r *Redirects) Missed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.epoch.Add(2)
	clear(r.lookups)
}

// RedirectsStats tells how the memory of redirects is used.
type RedirectsStats struct {
	Bytes        uint64
	Entries      int
	Hits, Misses uint64 // since the start
}

// Stats returns the use of the memory so far.
func (r *Redirects) Stats() RedirectsStats {
	return RedirectsStats{
		Bytes: r.cache.WeightedSize(), Entries: r.cache.EstimatedSize(), Hits: r.hits.Load(),
		Misses: r.misses.Load(),
	}
}
