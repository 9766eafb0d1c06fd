package linkquota

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"linkledger/commands/domain"
	"linkledger/events/eventstore"
)

const (
	// storeTimeout bounds how long links of an account with limits wait for the event store.
	storeTimeout = 5 * time.Second
	// MaxPending bounds the pending links of an account, because one event names them all.
	MaxPending = 4096
	// readModelTimeout is how long a link waits for the read model to count deletions.
	readModelTimeout = 2 * time.Second
	// readModelPoll is how often the read model is queried meanwhile.
	readModelPoll = 25 * time.Millisecond
	// maxQueues bounds the idle accounts whose quota a node keeps in memory.
	maxQueues = 10_000
)

// Config of Quotas.
type Config struct {
	Store *eventstore.Store
	// Existing counts an account's links in the read model, and those of the month of now. In the
	// service this is queries.DB.LinkTotals.
	Existing func(ctx context.Context, account string, now time.Time) (Existing, error)
	Now      func() time.Time // nil: time.Now
}

// Quotas keeps the number of links of an account with limits within its plan, exactly, over all
// nodes. A link is reserved in the account's stream, at the stream's exact revision, before the
// link is created. So of two nodes that compete for the last reservation one fails and decides
// again. Links that ask during an append share the next one, first come first served.
//
// A reservation whose link fails is returned at once. If a node was killed between the reservation
// and the creation, the next node that finds no reservation left looks for the link. After
// ClaimTimeout that node abandons the link in the link's own stream, so that a late creation fails,
// and returns the reservation. The read model counts deleted links and may be behind, so a link
// waits for it before it is refused. The read model also counts the links that were created while
// the account had no limit.
//
// It is safe for concurrent use.
type Quotas struct {
	cfg Config

	mu       sync.Mutex
	accounts map[string]*queue
}

// queue is the state of one account on this node, and the links that wait for a reservation.
type queue struct {
	waiting  []*waiter
	serving  bool           // a goroutine serves the queue
	created  reservationSet // reservations whose links were created
	failed   reservationSet // reservations to return
	reported chan struct{}  // holds a token after an addition to either

	// Only the goroutine that serves uses these.
	cached   bool // quota and revision are the last ones of the event store
	quota    quota
	revision eventstore.Revision
}

// waiter is a link that waits for a reservation.
type waiter struct {
	plan  domain.Plan
	link  string
	since time.Time

	restored  bool                // see events.PendingLink
	head      eventstore.Position // of the log, later than since; zero: not read yet
	abandoned bool                // the caller does not wait any more
	done      chan struct{}       // closed when at and err are valid
	answered  bool                // done is closed
	at        time.Time           // of the reservation
	err       error
}

// New returns the quotas of a node.
func New(cfg Config) *Quotas {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Quotas{cfg: cfg, accounts: make(map[string]*queue)}
}

// queue returns the queue of an account. q.mu must be held.
func (q *Quotas) queue(account string) *queue {
	a, ok := q.accounts[account]
	if !ok {
		a = &queue{
			created: reservationSet{}, failed: reservationSet{}, reported: make(chan struct{}, 1),
		}
		q.accounts[account] = a
	}
	return a
}

// startServing starts a goroutine that serves a queue, unless there is one. q.mu must be held.
func (q *Quotas) startServing(account string, a *queue) {
	if !a.serving {
		a.serving = true
		go q.serve(account, a)
	}
}

// enqueue puts a link into the queue of its account.
func (q *Quotas) enqueue(account string, plan domain.Plan, link string, restored bool) *waiter {
	c := &waiter{
		plan: plan, link: link, restored: restored, since: time.Now(), done: make(chan struct{}),
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	a := q.queue(account)
	a.waiting = append(a.waiting, c)
	q.startServing(account, a)
	return c
}

// wait returns the time that the link's creation must carry. It refuses with URLLimitReached.
func (q *Quotas) wait(ctx context.Context, c *waiter) (time.Time, error) {
	select {
	case <-c.done:
		return c.at, c.err
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	c.abandoned = true
	return time.Time{}, fmt.Errorf("wait for a link reservation: %w", ctx.Err())
}

// reportCreated notes that the link of a reservation was created.
func (q *Quotas) reportCreated(account string, p reservationKey) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.queue(account).report(p, true)
}

// release returns the reservation of a link that failed.
func (q *Quotas) release(account string, p reservationKey) {
	q.mu.Lock()
	defer q.mu.Unlock()
	a := q.queue(account)
	a.report(p, false)
	q.startServing(account, a)
}

// report notes the outcome of a pending link. The mutex must be held.
func (a *queue) report(p reservationKey, created bool) {
	if created {
		a.created[p] = struct{}{}
	} else {
		a.failed[p] = struct{}{}
	}
	select {
	case a.reported <- struct{}{}:
	default:
	}
}

// serve serves a queue until it is empty.
func (q *Quotas) serve(account string, a *queue) {
	var short []*waiter // without a reservation yet
	for {
		waiters, ok := q.next(account, a, short)
		if !ok {
			return
		}
		var err error
		if short, err = q.serveRound(account, a, waiters); err != nil {
			q.answer(a, waiters, err)
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

// next returns the links that wait, those of the last round first. It returns false if there is
// nothing to do.
func (q *Quotas) next(account string, a *queue, short []*waiter) ([]*waiter, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiters := slices.Concat(short, a.waiting)
	a.waiting = nil
	if len(waiters) > 0 || len(a.failed) > 0 && a.cached {
		return waiters, true
	}
	a.serving = false
	if len(q.accounts) > maxQueues {
		delete(q.accounts, account)
	}
	return nil, false
}

// answer ends the wait of waiters, each once, with a reservation or an error. The reservation of a
// waiter that does not wait any more is returned.
func (q *Quotas) answer(a *queue, waiters []*waiter, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, c := range waiters {
		if c.answered {
			continue
		}
		if c.answered, c.err = true, err; err == nil && c.abandoned {
			a.report(reservationKey{c.link, c.at.UnixMicro()}, false)
		}
		close(c.done)
	}
}
