// Package cache answers from memory the queries that most requests need: the redirect of a short
// link, and the account of a user name.
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
	// StaleBound is how stale a cached redirect may be while the notifications are interrupted and
	// the database answers. If the database does not answer, the cached redirect stays valid until
	// it does.
	StaleBound = time.Second
	// loadTimeout bounds one look-up of a redirect.
	loadTimeout = 5 * time.Second
	// renewTimeout bounds how long a visitor waits for a look-up if the cache has a stale redirect.
	// If the cache has none, firstTimeout is the bound. Both are below the 3 s that a proxy waits
	// for a redirect, so that there is time to read the log instead.
	renewTimeout = 250 * time.Millisecond
	firstTimeout = 400 * time.Millisecond
	// redirectOverhead is about how many bytes a cached redirect takes in addition to its texts.
	redirectOverhead = 352
)

// Redirects is a cache of DB.Redirect. It keeps the most requested hashes, including unknown ones,
// within a number of bytes. If several visitors wait for a hash that is not in the cache, it reads
// the hash from the database once. A progress.Waiter reports changes to the cache before it reports
// that a write has reached the read models. So a caller that has the answer to a write sees the
// effect of the write here.
//
// If a hash changes during its look-up, the result goes only to callers that asked before the
// change, and is not cached. Redirects is safe for concurrent use.
type Redirects struct {
	find  func(ctx context.Context, hash string) (queries.Redirect, error)
	cache *otter.Cache[string, *cachedRedirect]

	// connection is a number that is even while a connection is open over which changes are
	// reported. It grows whenever changes may have been missed.
	connection atomic.Uint64
	// retryAt is when to query the database again after it gave no answer, in Unix nanoseconds; 0:
	// it answers.
	retryAt atomic.Int64

	mu      sync.Mutex
	lookups map[string]*lookup // under way, by hash

	hits, misses atomic.Uint64
}

// cachedRedirect is an entry of the cache.
type cachedRedirect struct {
	redirect   queries.Redirect
	err        error     // nil, or wraps queries.ErrNotFound
	connection uint64    // Redirects.connection at the start of the look-up
	at         time.Time // start of the look-up
}

// lookup is a query of the database that many callers may wait for.
type lookup struct {
	done  chan struct{}   // closed when the rest is valid
	entry *cachedRedirect // nil: the database gave no answer
	err   error           // why
}

// NewRedirects returns a cache of the redirects of a database that takes up to size bytes of
// memory. Until a running progress.Waiter reports changes to it, its entries are at most StaleBound
// old.
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
	r.connection.Store(1)
	return r, nil
}

// Find returns the redirect of a hash. It returns the errors of DB.Redirect. An entry that may be
// stale stays valid as long as the database gives no answer. During that time only one visitor per
// StaleBound queries the database again. The others get the entry, or an error, at once.
func (r *Redirects) Find(ctx context.Context, hash string) (queries.Redirect, error) {
	entry, ok := r.cache.GetIfPresent(hash)
	if ok && r.current(entry) {
		r.hits.Add(1)
		return entry.redirect, entry.err
	}
	r.misses.Add(1)
	patience := firstTimeout
	if ok {
		patience = renewTimeout
	}
	redirect, err := r.ask(ctx, hash, patience)
	if ok && err != nil && !errors.Is(err, queries.ErrNotFound) {
		return entry.redirect, entry.err
	}
	return redirect, err
}

// errNoAnswer is the error of a look-up while the database is known to give no answer.
var errNoAnswer = errors.New("redirect: the database gives no answer")

// ask looks up a hash, unless the database is known to give no answer. It waits no longer than
// patience.
func (r *Redirects) ask(
	ctx context.Context, hash string, patience time.Duration,
) (queries.Redirect, error) {
	if at := r.retryAt.Load(); at != 0 {
		now := time.Now()
		if now.UnixNano() < at || !r.retryAt.CompareAndSwap(at, now.Add(StaleBound).UnixNano()) {
			return queries.Redirect{}, errNoAnswer
		}
	}
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	redirect, err := r.lookUp(within, hash)
	if err != nil && !errors.Is(err, queries.ErrNotFound) && ctx.Err() == nil {
		r.noteFailure()
	}
	return redirect, err
}

// current reports whether an entry needs no new look-up.
func (r *Redirects) current(entry *cachedRedirect) bool {
	connection := r.connection.Load()
	return entry.connection == connection &&
		(connection%2 == 0 || time.Since(entry.at) < StaleBound)
}

// Refresh returns the redirect of a hash from the database, in a look-up that begins after the
// call. It returns the errors of DB.Redirect.
func (r *Redirects) Refresh(ctx context.Context, hash string) (queries.Redirect, error) {
	r.mu.Lock()
	delete(r.lookups, hash) // it began before the call
	r.mu.Unlock()
	return r.lookUp(ctx, hash)
}

// Away reports whether the database gave no answer to the last look-up, less than StaleBound ago.
func (r *Redirects) Away() bool {
	at := r.retryAt.Load()
	return at != 0 && time.Now().UnixNano() < at
}

// lookUp waits for the look-up of a hash, or begins it. The look-up continues after ctx ends,
// because other callers may wait for it.
func (r *Redirects) lookUp(ctx context.Context, hash string) (queries.Redirect, error) {
	r.mu.Lock()
	l, ok := r.lookups[hash]
	if !ok {
		hash = strings.Clone(hash) // it is often a part of a request, which would stay in memory
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

// load queries the database. It caches the result, unless the hash has changed since the query
// began. In that case lookups no longer has this look-up.
func (r *Redirects) load(ctx context.Context, hash string, l *lookup) {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	defer close(l.done)
	entry := &cachedRedirect{connection: r.connection.Load(), at: time.Now()}
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

// Changed removes the redirects that depend on keys of a projection that have changed.
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
		clear(r.lookups) // their owners are not known yet
		for hash, entry := range r.cache.All() {
			if slices.Contains(keys, entry.redirect.Owner.String()) {
				r.cache.Invalidate(hash)
			}
		}
	}
}

// SetConnected records whether changes are reported from now on. Some may have been missed before,
// so each entry is looked up again when it is next requested.
func (r *Redirects) SetConnected(connected bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.connection.Load() + 1
	if (next%2 == 0) != connected {
		next++
	}
	r.connection.Store(next)
	clear(r.lookups) // they began before the change
}

// Missed records that changes have been missed: each entry is looked up again.
func (r *Redirects) Missed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.connection.Add(2)
	clear(r.lookups)
}

// RedirectsStats describes how the cache of redirects is used.
type RedirectsStats struct {
	Bytes        uint64
	Entries      int
	Hits, Misses uint64 // since the start
}

// Stats returns the use of the cache so far.
func (r *Redirects) Stats() RedirectsStats {
	return RedirectsStats{
		Bytes: r.cache.WeightedSize(), Entries: r.cache.EstimatedSize(), Hits: r.hits.Load(),
		Misses: r.misses.Load(),
	}
}
