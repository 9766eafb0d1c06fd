package commands

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
	// allowanceTimeout bounds how long visitors of a link with a limit wait for the event store.
	allowanceTimeout = 2 * time.Second
	// rememberedAllowances is how many links with a limit a node knows the use of without asking.
	rememberedAllowances = 10_000
)

// Allowances sees to it that a link with a limit redirects as many visitors as the limit says, over all nodes. A visitor's
// click is taken from the link's stream, at its exact revision, before he is redirected: nodes that compete for the last
// clicks meet there. Visitors of one link that come while an append is under way share the next one.
//
// What was taken is used, also when the visitor leaves or the node dies before he is redirected. It is safe for
// concurrent use.
type Allowances struct {
	store *eventstore.Store
	now   func() time.Time

	mu    sync.Mutex
	links map[string]*allowance
}

// allowance is what a node knows of one link.
type allowance struct {
	waiting []*taker
	busy    bool // somebody serves those who wait

	// Touched by whoever serves.
	known    bool // the rest is as the event store had it last
	used     int64
	revision eventstore.Revision
}

// taker is a visitor who waits.
type taker struct {
	limit   int64
	before  int64 // clicks that are counted, perhaps from before there was a limit
	peek    bool
	done    chan struct{} // closed when the rest is valid
	granted bool
	err     error
}

// NewAllowances returns the allowances of a node. A nil clock means time.Now.
func NewAllowances(store *eventstore.Store, now func() time.Time) *Allowances {
	if now == nil {
		now = time.Now
	}
	return &Allowances{store: store, now: now, links: make(map[string]*allowance)}
}

// Take takes one click from a link that may have limit of them; counted is how many the read models know of. It is false
// when all are used. Without the event store it fails with ErrUnavailable: nobody can tell.
func (a *Allowances) Take(ctx context.Context, urlID string, limit, counted int64) (bool, error) {
	return a.wait(ctx, urlID, &taker{limit: limit, before: counted, done: make(chan struct{})})
}

// Left tells whether a click is left, and takes none.
func (a *Allowances) Left(ctx context.Context, urlID string, limit, counted int64) (bool, error) {
	return a.wait(ctx, urlID, &taker{limit: limit, before: counted, peek: true, done: make(chan struct{})})
}

func (a *Allowances) wait(ctx context.Context, urlID string, t *taker) (bool, error) {
	a.mu.Lock()
	link, ok := a.links[urlID]
	if !ok {
		link = &allowance{}
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
func (a *Allowances) serve(urlID string, link *allowance) {
	for {
		a.mu.Lock()
		takers := link.waiting
		link.waiting = nil
		if len(takers) == 0 {
			link.busy = false
			if len(a.links) > rememberedAllowances {
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
func (a *Allowances) share(urlID string, link *allowance, takers []*taker) error {
	ctx, cancel := context.WithTimeout(context.Background(), allowanceTimeout)
	defer cancel()
	stream := events.StreamAllowance + urlID
	if slices.ContainsFunc(takers, func(t *taker) bool { return t.peek }) {
		link.known = false // no append would find out what other nodes have taken
	}
	_, err := retry(func() (struct{}, error) {
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
			Events: []events.Event{events.AllowanceUsed{Clicks: clicks, Used: used, At: a.now().UTC().Truncate(time.Microsecond)}},
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
func (a *Allowances) learn(ctx context.Context, stream string, link *allowance) error {
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

// grant decides who of the takers gets a click where some are used, the first come first. Clicks that were counted while
// the link had no limit are used too.
func grant(used int64, takers []*taker) (clicks, after int64) {
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
