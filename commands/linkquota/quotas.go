package linkquota

import (
	"context"
	"fmt"
	"sync"
	"time"

	"linkledger/commands/domain"
	"linkledger/events/eventstore"
)

const (
	// quotaTimeout bounds how long links of an account with limits wait for the event store.
	quotaTimeout = 5 * time.Second
	// MaxPending bounds how many links of an account are under way, so that an event can name them
	// all.
	MaxPending = 4096
	// readModelPatience is how long a link waits for the read model to count links that were
	// deleted.
	readModelPatience = 2 * time.Second
	// readModelPoll is how often the read model is asked meanwhile.
	readModelPoll = 25 * time.Millisecond
	// rememberedQuotas is how many accounts a node knows the room of without asking.
	rememberedQuotas = 10_000
)

// Config of Quotas.
type Config struct {
	Store *eventstore.Store
	// Existing asks the read model what there is of an account's links, and for a month that of
	// now.
	Existing func(ctx context.Context, account string, now time.Time) (Existing, error)
	Now      func() time.Time // nil: time.Now
}

// Quotas sees to it that an account with limits has as many links as its plan says, over all nodes,
// and not one more or less. A link takes room in the account's stream, at its exact revision,
// before it is created: nodes that compete for the last room meet there. The links that ask while
// an append is under way share the next one, first come first served.
//
// A link that fails gives its room back at once. Where a node was killed between the two appends,
// whoever finds no room looks for the link, and after ClaimTimeout takes its room back; the link's
// creation is kept from coming first. Deleted links are counted by the read model, which may be
// behind: then a claimant waits for it before he is refused. What was created while an account had
// no limit is known from there too.
//
// It is safe for concurrent use.
type Quotas struct {
	cfg Config

	mu       sync.Mutex
	accounts map[string]*queue
}

// queue is what a node knows of one account, and who waits for room.
type queue struct {
	waiting  []*waiter
	busy     bool          // somebody serves those who wait
	came     places        // pending links that were created
	never    places        // pending links whose room is to be taken back
	reported chan struct{} // holds a token when one of them was added

	// Touched by whoever serves.
	known    bool // the rest is as the event store had it last
	quota    quota
	revision eventstore.Revision
}

// waiter is a link that waits for room.
type waiter struct {
	plan  domain.Plan
	link  string
	since time.Time

	restored bool                // as of events.PendingLink
	head     eventstore.Position // of the log, later than since; zero: not asked for yet
	left     bool                // nobody waits any more
	done     chan struct{}       // closed when the rest is valid
	told     bool                // and it is
	at       time.Time           // of the room
	err      error
}

// New returns the quotas of a node.
func New(cfg Config) *Quotas {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Quotas{cfg: cfg, accounts: make(map[string]*queue)}
}

// queue returns the queue of an account; q.mu is held.
func (q *Quotas) queue(account string) *queue {
	a, ok := q.accounts[account]
	if !ok {
		a = &queue{came: places{}, never: places{}, reported: make(chan struct{}, 1)}
		q.accounts[account] = a
	}
	return a
}

// wake has somebody serve a queue; q.mu is held.
func (q *Quotas) wake(account string, a *queue) {
	if !a.busy {
		a.busy = true
		go q.serve(account, a)
	}
}

// ask puts a link into the queue.
func (q *Quotas) ask(account string, plan domain.Plan, link string, restored bool) *waiter {
	c := &waiter{
		plan: plan, link: link, restored: restored, since: time.Now(), done: make(chan struct{}),
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	a := q.queue(account)
	a.waiting = append(a.waiting, c)
	q.wake(account, a)
	return c
}

// wait returns the time that the link's creation has to carry. It refuses with URLLimitReached.
func (q *Quotas) wait(ctx context.Context, c *waiter) (time.Time, error) {
	select {
	case <-c.done:
		return c.at, c.err
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	c.left = true
	return time.Time{}, fmt.Errorf("wait for room for a link: %w", ctx.Err())
}

// came notes that a link was created in its room.
func (q *Quotas) came(account string, p place) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.queue(account).report(p, true)
}

// giveBack takes back the room of a link that failed.
func (q *Quotas) giveBack(account string, p place) {
	q.mu.Lock()
	defer q.mu.Unlock()
	a := q.queue(account)
	a.report(p, false)
	q.wake(account, a)
}

// report notes what became of a pending link; the mutex is held.
func (a *queue) report(p place, came bool) {
	if came {
		a.came[p] = struct{}{}
	} else {
		a.never[p] = struct{}{}
	}
	select {
	case a.reported <- struct{}{}:
	default:
	}
}

// serve answers those who wait for room until there are none.
func (q *Quotas) serve(account string, a *queue) {
	var short []*waiter // there is no room for them yet
	for {
		claimants, ok := q.next(account, a, short)
		if !ok {
			return
		}
		var err error
		if short, err = q.share(account, a, claimants); err != nil {
			q.answer(a, claimants, err)
			short = nil
		}
		if len(short) > 0 {
			select {
			case <-a.reported:
			case <-time.After(readModelPoll):
			}
		}
	}
}

// next returns those who wait. It is false when there is nothing to do.
func (q *Quotas) next(account string, a *queue, short []*waiter) ([]*waiter, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	claimants := append(short, a.waiting...)
	a.waiting = nil
	if len(claimants) > 0 || len(a.never) > 0 && a.known {
		return claimants, true
	}
	a.busy = false
	if len(q.accounts) > rememberedQuotas {
		delete(q.accounts, account)
	}
	return nil, false
}

// answer tells claimants, each once, what they wait for: their room, or an error. Room that nobody
// waits for any more is taken back.
func (q *Quotas) answer(a *queue, claimants []*waiter, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, c := range claimants {
		if c.told {
			continue
		}
		if c.told, c.err = true, err; err == nil && c.left {
			a.report(place{c.link, c.at.UnixMicro()}, false)
		}
		close(c.done)
	}
}
