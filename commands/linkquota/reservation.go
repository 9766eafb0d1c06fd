package linkquota

import (
	"context"
	"errors"
	"sync"
	"time"

	"linkledger/commands/batch"
	"linkledger/commands/domain"
	"linkledger/events"
	"linkledger/events/eventstore"
)

// Reservation lets one item of a batch create or restore a link within the account's plan. It must
// be used from one goroutine. A nil Reservation belongs to an account without limits, and its
// methods do nothing.
type Reservation struct {
	quotas  *Quotas
	account string
	plan    domain.Plan

	restored bool // see events.PendingLink

	turn, next chan struct{}
	passed     sync.Once

	held events.PendingLink // zero: no reservation
}

// Reserve returns the reservation of an item, which reserves nothing before Take. The item MUST
// call PassTurn in the end, or the items after it wait forever.
func (q *Quotas) Reserve(r domain.Request, t batch.Turns, item int) *Reservation {
	if !r.Plan.LimitsURLs() {
		return nil
	}
	return &Reservation{quotas: q, account: r.Account, plan: r.Plan, turn: t[item], next: t[item+1]}
}

// ReserveToRestore returns the reservation of a deleted link that is to be restored. The link
// counts among the links of the account, but not among those created in the month.
func (q *Quotas) ReserveToRestore(r domain.Request) *Reservation {
	if !r.Plan.LimitsURLs() {
		return nil
	}
	order := batch.NewTurns(1)
	return &Reservation{
		quotas: q, account: r.Account, plan: domain.Plan{URLs: r.Plan.URLs}, restored: true,
		turn: order[0], next: order[1],
	}
}

// Take reserves a link, unless it is reserved already, and returns the time that its creation must
// carry. It refuses with URLLimitReached.
func (r *Reservation) Take(ctx context.Context, link string, now time.Time) (time.Time, error) {
	if r == nil {
		return now, nil
	}
	if r.held.URLID == link {
		return r.held.At, nil
	}
	r.Release()
	<-r.turn // the items before this one are in the queue, or need no reservation
	asked := &request{
		plan: r.plan, link: events.PendingLink{URLID: link, Restored: r.restored},
		since: time.Now(),
	}
	r.quotas.ledger.Ask(r.account, asked)
	r.PassTurn()
	err := asked.Wait(ctx)
	if err == nil {
		r.held = asked.link
	} else if ctx.Err() != nil {
		asked.left.Store(true)
		go func() { // the link may be reserved already
			if asked.Wait(context.WithoutCancel(ctx)) == nil {
				r.quotas.report(r.account, asked.link, outcomeFailed)
			}
		}()
	}
	return r.held.At, err
}

// IsRefused reports whether Take refused: the account has as many links as its plan allows.
func IsRefused(err error) bool {
	return domain.KindOf(err) == domain.URLLimitReached
}

// PassTurn lets the next item of the batch reserve.
func (r *Reservation) PassTurn() {
	if r == nil {
		return
	}
	r.passed.Do(func() {
		<-r.turn
		close(r.next)
	})
}

// Finish notes the outcome of the link's creation. err is the error of the creation. If err leaves
// the outcome unknown, the reservation stays. Once another link needs the reservation, the outcome
// is looked up in the link's stream.
func (r *Reservation) Finish(err error) {
	switch {
	case r == nil:
		return
	case err == nil:
		r.quotas.report(r.account, r.held, outcomeCreated)
	case errors.Is(err, eventstore.ErrWrongRevision):
		return // Release gives the reservation back
	}
	r.held = events.PendingLink{}
}

// Release gives back the reservation of a link that was not created. After Finish, it does nothing,
// unless the creation failed with ErrWrongRevision.
func (r *Reservation) Release() {
	if r == nil || r.held.URLID == "" {
		return
	}
	r.quotas.report(r.account, r.held, outcomeFailed)
	r.held = events.PendingLink{}
}
