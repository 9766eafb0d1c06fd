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
	// maxLinks is how many links with a limit a node knows the use of without asking.
	maxLinks = 10_000
)

// Limiter sees to it that a link with a limit redirects as many visitors as the limit says, over
// all nodes. A visitor's click is taken from the link's stream, at its exact revision, before he is
// redirected: nodes that compete for the last clicks meet there. Visitors of one link that come
// while an append is under way share the next one.
//
// What was taken is used, also when the visitor leaves or the node dies before he is redirected. It
// is safe for concurrent use.
type Limiter struct {
	store *eventstore.Store
	now   func() time.Time

	mu    sync.Mutex
	links map[string]*linkState
}

// linkState is what a node knows of one link.
type linkState struct {
	waiting []*waiter
	busy    bool // somebody serves those who wait

	// Touched by whoever serves.
	known    bool // the rest is as the event store had it last
	used     int64
	revision eventstore.Revision
}

// waiter is a visitor who waits.
type waiter struct {
	limit   int64
	before  int64 // clicks that are counted, perhaps from before there was a limit
	peek    bool
	done    chan struct{} // closed when the rest is valid
	granted bool
	err     error
}

// New returns the allowances of a node. A nil clock means time.Now.
func New(store *eventstore.Store, now func() time.Time) *Limiter {
	if now == nil {
		now = time.Now
	}
	return &Limiter{store: store, now: now, links: make(map[string]*linkState)}
}

// Take takes one click from a link that may have limit of them; counted is how many the read models
// know of. It is false when all are used. Without the event store it fails with ErrUnavailable:
// nobody can tell.
func (a *Limiter) Take(ctx context.Context, urlID string, limit, counted int64) (bool, error) {
	return a.wait(ctx, urlID, &waiter{limit: limit, before: counted, done: make(chan struct{})})
}

// Left tells whether a click is left, and takes none.
func (a *Limiter) Left(ctx context.Context, urlID string, limit, counted int64) (bool, error) {
	return a.wait(
		ctx, urlID, &waiter{limit: limit, before: counted, peek: true, done: make(chan struct{})},
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
	if !link.busy {
		link.busy = true
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

// serve answers those who wait for a link until there are none.
func (a *Limiter) serve(urlID string, link *linkState) {
	for {
		a.mu.Lock()
		takers := link.waiting
		link.waiting = nil
		if len(takers) == 0 {
			link.busy = false
			if len(a.links) > maxLinks {
				delete(a.links, urlID)
			}
			a.mu.Unlock()
			return
		}
		a.mu.Unlock()
		err := a.share(urlID, link, takers)
		for _, t := range takers {
			t.err = err
			close(t.done)
		}
	}
}

// share grants takers what is left, in one append.
func (a *Limiter) share(urlID string, link *linkState, takers []*waiter) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	stream := events.StreamAllowance + urlID
	if slices.ContainsFunc(takers, func(t *waiter) bool { return t.peek }) {
		link.known = false // no append would find out what other nodes have taken
	}
	_, err := eventstore.Retry(func() (struct{}, error) {
		if !link.known {
			if err := a.learn(ctx, stream, link); err != nil {
				return struct{}{}, err
			}
		}
		clicks, used := grant(link.used, takers)
		if clicks == 0 {
			return struct{}{}, nil
		}
		link.known = false // until the outcome is known
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
		link.known, link.used, link.revision = true, used, appended.Revision
		return struct{}{}, nil
	})
	if err != nil {
		return fmt.Errorf("take clicks of a link with a limit: %w", err)
	}
	return nil
}

// learn reads how much of a link's limit is used.
func (a *Limiter) learn(ctx context.Context, stream string, link *linkState) error {
	last, err := a.store.Last(ctx, stream)
	if errors.Is(err, eventstore.ErrNotFound) {
		link.known, link.used, link.revision = true, 0, eventstore.NoStream
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
		return fmt.Errorf("%s has no place in stream %s", last.Type, stream)
	}
	link.known, link.used, link.revision = true, taken.Used, last.Revision
	return nil
}

// grant decides who of the takers gets a click where some are used, the first come first. Clicks
// that were counted while the link had no limit are used too.
func grant(used int64, takers []*waiter) (clicks, after int64) {
	for _, t := range takers {
		used = max(used, t.before)
	}
	for _, t := range takers {
		t.granted = used < t.limit
		if t.granted && !t.peek {
			clicks++
			used++
		}
	}
	return clicks, used
}
