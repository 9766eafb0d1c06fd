package linkquota

import (
	"context"
	"errors"
	"sync"
	"time"

	"linkledger/commands/batch"
	"linkledger/commands/domain"
	"linkledger/events/eventstore"
)

// Reservation is what an item of a batch needs to create a link, or to restore one. A nil one is
// that of an account without limits.
type Reservation struct {
	quotas  *Quotas
	account string
	plan    domain.Plan

	restored bool // as of events.PendingLink

	turn, next chan struct{}
	passed     sync.Once

	held place // zero: none
}

// Reserve returns the room of an item, which has to call pass in the end.
func (q *Quotas) Reserve(r domain.Request, t batch.Turns, item int) *Reservation {
	if !r.Plan.LimitsURLs() {
		return nil
	}
	return &Reservation{quotas: q, account: r.Account, plan: r.Plan, turn: t[item], next: t[item+1]}
}

// ReserveToRestore returns the room of a deleted link that is to live again. It counts among the
// links of the account, but not among those created in the month.
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

// Take gets room for a link, unless it has it, and returns the time that its creation has to carry.
// It refuses with URLLimitReached.
func (m *Reservation) Take(ctx context.Context, link string, now time.Time) (time.Time, error) {
	if m == nil {
		return now, nil
	}
	if m.held.link == link {
		return time.UnixMicro(m.held.at).UTC(), nil
	}
	m.GiveBack()
	<-m.turn // items before this one do not wait for it
	claimant := m.quotas.ask(m.account, m.plan, link, m.restored)
	m.Pass()
	at, err := m.quotas.wait(ctx, claimant)
	if err == nil {
		m.held = place{link, at.UnixMicro()}
	}
	return at, err
}

// IsRefused reports whether an error is the refusal of Take: the account has as many links as its
// plan allows.
func IsRefused(err error) bool {
	refused, ok := errors.AsType[*domain.Error](err)
	return ok && refused.Kind == domain.URLLimitReached
}

// Pass lets the next item ask.
func (m *Reservation) Pass() {
	if m == nil {
		return
	}
	m.passed.Do(func() {
		<-m.turn
		close(m.next)
	})
}

// Used notes how the creation of the link went. Where that is not known, the room is looked after
// when it is needed.
func (m *Reservation) Used(err error) {
	switch {
	case m == nil:
		return
	case err == nil:
		m.quotas.came(m.account, m.held)
	case errors.Is(err, eventstore.ErrWrongRevision):
		return // and it is given back
	}
	m.held = place{}
}

// GiveBack gives up the place of a link that was not created.
func (m *Reservation) GiveBack() {
	if m == nil || m.held == (place{}) {
		return
	}
	m.quotas.giveBack(m.account, m.held)
	m.held = place{}
}
