package commands

import (
	"context"
	"errors"
	"sync"
	"time"

	"linkledger/commands/domain"
	"linkledger/events/eventstore"
)

// room is what an item of a batch needs to create a link, or to restore one. A nil one is that of an account without limits.
type room struct {
	quotas  *Quotas
	account string
	plan    domain.Plan

	restored bool // as of events.PendingLink

	turn, next chan struct{}
	passed     sync.Once

	held place // zero: none
}

// roomFor returns the room of an item, which has to call pass in the end.
func (h *Handler) roomFor(r domain.Request, t turns, item int) *room {
	if !r.Plan.LimitsURLs() {
		return nil
	}
	return &room{quotas: h.cfg.Quotas, account: r.Account, plan: r.Plan, turn: t[item], next: t[item+1]}
}

// roomToRestore returns the room of a deleted link that is to live again. It counts among the links of the account, but
// not among those created in the month.
func (h *Handler) roomToRestore(r domain.Request) *room {
	if !r.Plan.LimitsURLs() {
		return nil
	}
	order := newTurns(1)
	return &room{
		quotas: h.cfg.Quotas, account: r.Account, plan: domain.Plan{URLs: r.Plan.URLs}, restored: true, turn: order[0], next: order[1],
	}
}

// take gets room for a link, unless it has it, and returns the time that its creation has to carry. It refuses with
// URLLimitReached.
func (m *room) take(ctx context.Context, link string, now time.Time) (time.Time, error) {
	if m == nil {
		return now, nil
	}
	if m.held.link == link {
		return time.UnixMicro(m.held.at).UTC(), nil
	}
	m.giveBack()
	<-m.turn // items before this one do not wait for it
	claimant := m.quotas.ask(m.account, m.plan, link, m.restored)
	m.pass()
	at, err := m.quotas.wait(ctx, claimant)
	if err == nil {
		m.held = place{link, at.UnixMicro()}
	}
	return at, err
}

func refusedForRoom(err error) bool {
	refused, ok := errors.AsType[*domain.Error](err)
	return ok && refused.Kind == domain.URLLimitReached
}

// pass lets the next item ask.
func (m *room) pass() {
	if m == nil {
		return
	}
	m.passed.Do(func() {
		<-m.turn
		close(m.next)
	})
}

// used notes how the creation of the link went. Where that is not known, the room is looked after when it is needed.
func (m *room) used(err error) {
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

// giveBack gives up the room of a link that was not created.
func (m *room) giveBack() {
	if m == nil || m.held == (place{}) {
		return
	}
	m.quotas.giveBack(m.account, m.held)
	m.held = place{}
}
