// Package clicklimit keeps the limits of clicks exact over all nodes: a link with a limit of n
// clicks redirects n times.
package clicklimit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
)

const (
	// timeout bounds how long visitors of a link with a limit wait for the event store.
	timeout = 2 * time.Second
	// maxLinks bounds the idle links with a limit whose use a node keeps in memory.
	maxLinks = 10_000
)

// Limiter keeps the clicks of a link with a limit within that limit, over all nodes. A visitor's
// click is taken in the link's stream, at the stream's exact revision, before the redirect. So of
// two nodes that compete for the last click one fails and decides again. Visitors of one link that
// arrive during an append share the next one.
//
// A click that was taken is used, also if the visitor leaves or the node stops before the redirect.
// Limiter is safe for concurrent use.
type Limiter struct {
	store *eventstore.Store
	now   func() time.Time

	mu    sync.Mutex
	links map[string]*linkState
}

// linkState is the state of one link on this node, and the visitors who wait for a click.
type linkState struct {
	waiting []*waiter
	serving bool // a goroutine serves the link

	// Only the goroutine that serves uses these.
	cached   bool // used and revision are the last ones of the event store
	used     int64
	revision eventstore.Revision
}

// waiter is a visitor who waits for a click.
type waiter struct {
	limit   int64
	counted int64         // clicks in the read models, also from before the limit was set
	peek    bool          // asks whether a click is left, and takes none
	done    chan struct{} // closed when granted and err are valid
	granted bool
	err     error
}

// New returns the limiter of a node. If now is nil, it uses time.Now.
func New(store *eventstore.Store, now func() time.Time) *Limiter {
	if now == nil {
		now = time.Now
	}
	return &Limiter{store: store, now: now, links: make(map[string]*linkState)}
}

// Take takes one click of a link that may have limit of them. counted is the number of clicks in
// the read models. It returns false if all are used, and fails with ErrUnavailable if the event
// store is unavailable, because then the number of used clicks is unknown.
func (a *Limiter) Take(ctx context.Context, urlID string, limit, counted int64) (bool, error) {
	return a.wait(ctx, urlID, &waiter{limit: limit, counted: counted, done: make(chan struct{})})
}

// Left reports whether a click is left, and takes none.
func (a *Limiter) Left(ctx context.Context, urlID string, limit, counted int64) (bool, error) {
	return a.wait(
		ctx, urlID, &waiter{limit: limit, counted: counted, peek: true, done: make(chan struct{})},
	)
}

func (a *Limiter) wait(ctx context.Context, urlID string, t *waiter) (bool, error) {
	a.mu.Lock()
	link, ok := a.links[urlID]
	if !ok {
		link = &linkState{}
		a.links[urlID] = link
	}
	link.waiting = append(link.waiting, t)
	if !link.serving {
		link.serving = true
		go a.serve(urlID, link)
	}
	a.mu.Unlock()
	select {
	case <-t.done:
		return t.granted, t.err
	case <-ctx.Done():
		return false, fmt.Errorf("take a click: %w", ctx.Err())
	}
}

// serve serves a link until no visitor waits for it.
func (a *Limiter) serve(urlID string, link *linkState) {
	for {
		a.mu.Lock()
		waiters := link.waiting
		link.waiting = nil
		if len(waiters) == 0 {
			link.serving = false
			if len(a.links) > maxLinks {
				delete(a.links, urlID)
			}
			a.mu.Unlock()
			return
		}
		a.mu.Unlock()
		err := a.grantAll(urlID, link, waiters)
		for _, t := range waiters {
			t.err = err
			close(t.done)
		}
	}
}

// grantAll grants the clicks that are left to waiters, in one append.
func (a *Limiter) grantAll(urlID string, link *linkState, waiters []*waiter) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	stream := events.StreamAllowance + urlID
	if slices.ContainsFunc(waiters, func(t *waiter) bool { return t.peek }) {
		link.cached = false // without an append, clicks of other nodes would go unnoticed
	}
	_, err := eventstore.Retry(func() (struct{}, error) {
		if !link.cached {
			if err := a.load(ctx, stream, link); err != nil {
				return struct{}{}, err
			}
		}
		clicks, used := grant(link.used, waiters)
		if clicks == 0 {
			return struct{}{}, nil
		}
		link.cached = false // if the append fails, its outcome is unknown
		appended, err := a.store.Append(ctx, eventstore.Write{
			Stream: stream, Expected: link.revision, Command: uuid.New(),
			Events: []events.Event{
				events.AllowanceUsed{
					Clicks: clicks, Used: used, At: a.now().UTC().Truncate(time.Microsecond),
				},
			},
		})
		if err != nil {
			return struct{}{}, err
		}
		link.cached, link.used, link.revision = true, used, appended.Revision
		return struct{}{}, nil
	})
	if err != nil {
		return fmt.Errorf("take clicks of a link with a limit: %w", err)
	}
	return nil
}

// load reads how many clicks of the link are used.
func (a *Limiter) load(ctx context.Context, stream string, link *linkState) error {
	last, err := a.store.Last(ctx, stream)
	if errors.Is(err, eventstore.ErrNotFound) {
		link.cached, link.used, link.revision = true, 0, eventstore.NoStream
		return nil
	}
	if err != nil {
		return err
	}
	e, err := last.Event()
	if err != nil {
		return err
	}
	taken, ok := e.(events.AllowanceUsed)
	if !ok {
		return fmt.Errorf("%s does not belong in stream %s", last.Type, stream)
	}
	link.cached, link.used, link.revision = true, taken.Used, last.Revision
	return nil
}

// grant decides which waiters get a click, the first ones first, and returns the number of clicks
// and the use after them. Clicks that were counted before the link had a limit count as used.
func grant(used int64, waiters []*waiter) (clicks, after int64) {
	for _, t := range waiters {
		used = max(used, t.counted)
	}
	for _, t := range waiters {
		t.granted = used < t.limit
		if t.granted && !t.peek {
			clicks++
			used++
		}
	}
	return clicks, used
}
