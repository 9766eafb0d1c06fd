// Package linkquota keeps the number of links of an account within its plan, exactly, over all
// nodes. It counts links, and the caller creates them.
package linkquota

import (
	"math"
	"time"

	"linkledger/commands/domain"
	"linkledger/events"
	"linkledger/events/eventstore"
)

// Existing counts the links of an account in a read model. The read model may be behind. Then each
// count is too low.
type Existing struct {
	Created         int64  // creations and restorations so far
	Deleted         int64  // deletions of these
	Month           int64  // creations in the current month, also of links deleted since
	Commit, Prepare uint64 // log position of the counts
}

func (e Existing) position() eventstore.Position {
	return eventstore.Position{Commit: e.Commit, Prepare: e.Prepare}
}

// reservationKey identifies a reservation: by the link's id and the time that the link's creation
// carries. Two tries to create a link with the same id have two reservations.
type reservationKey struct {
	link string
	at   int64 // Unix microseconds
}

func keyOf(p events.PendingLink) reservationKey { return reservationKey{p.URLID, p.At.UnixMicro()} }

// reservationSet is a set of reservations.
type reservationSet map[reservationKey]struct{}

func (s reservationSet) has(p events.PendingLink) bool {
	_, ok := s[keyOf(p)]
	return ok
}

// quota counts the reservations of an account. Every link is reserved before it is created, so
// there are never fewer reservations than links.
type quota struct {
	taken      int64 // reservations so far, also of links deleted since
	month      string
	monthTaken int64
	pending    []events.PendingLink
	// last is at or after the time of every reservation so far, except times far in the future.
	last time.Time
}

// foldQuota returns the quota after an event. It ignores times far ahead of now, which come from a
// wrong clock. Otherwise all later reservations would get even later times.
func foldQuota(e events.QuotaChanged, now time.Time) quota {
	q := quota{
		taken: e.Taken, month: e.Month, monthTaken: e.MonthTaken, pending: e.Pending,
	}
	times := []time.Time{e.At}
	for _, p := range e.Pending {
		times = append(times, p.At)
	}
	for _, at := range times {
		if at.After(q.last) && !events.IsFarAhead(at, now) {
			q.last = at
		}
	}
	return q
}

// withExisting returns the quota at now. It counts the links that were created while the account
// had no limit, and starts a new month if one has begun.
func (q quota) withExisting(e Existing, now time.Time) quota {
	if q.month < monthOf(now) || q.month > monthOf(now.Add(events.MaxLead)) {
		q.month, q.monthTaken = monthOf(now), 0
	}
	q.taken = max(q.taken, e.Created)
	if q.month == monthOf(now) { // false if another node's clock is in the next month already
		q.monthTaken = max(q.monthTaken, e.Month)
	}
	return q
}

// remaining returns how many more links a plan allows. It is negative if the plan allowed more when
// the links were created.
func (q quota) remaining(p domain.Plan, e Existing) int64 {
	left := int64(math.MaxInt64)
	if p.URLs > 0 {
		left = p.URLs - (q.taken - e.Deleted)
	}
	if p.MonthURLs > 0 {
		left = min(left, p.MonthURLs-q.monthTaken)
	}
	return left
}

// nextTime returns the first time from now on, in microseconds, that no reservation has. Times of
// reservations must differ although clocks differ between nodes, stand still and go back.
func (q quota) nextTime(now time.Time) time.Time {
	if !now.After(q.last) {
		return q.last.Add(time.Microsecond)
	}
	return now
}

// change makes the event that adds reservations, gives back the reservations of failed links, and
// removes created links from the pending ones. Only a pending reservation is given back, so each is
// given back at most once.
func (q quota) change(
	reserved []events.PendingLink, failed, created reservationSet, at time.Time,
) events.QuotaChanged {
	if at.Before(q.last) {
		at = q.last
	}
	e := events.QuotaChanged{
		Reserved: reserved, Taken: q.taken, Month: q.month, MonthTaken: q.monthTaken, At: at,
	}
	for _, p := range q.pending {
		switch {
		case failed.has(p):
			e.Returned = append(e.Returned, p)
		case !created.has(p):
			e.Pending = append(e.Pending, p)
		}
	}
	e.Pending = append(e.Pending, reserved...)
	e.Taken += int64(len(e.Reserved) - len(e.Returned))
	e.MonthTaken += inMonth(e.Reserved, q.month) - inMonth(e.Returned, q.month)
	return e
}

func inMonth(links []events.PendingLink, month string) int64 {
	n := int64(0)
	for _, p := range links {
		if monthOf(p.At) == month && !p.Restored {
			n++
		}
	}
	return n
}

func monthOf(at time.Time) string { return at.UTC().Format("2006-01") }

// outcome is the result of the creation or restoration of a pending link.
type outcome int

const (
	outcomeOpen    outcome = iota // the link may still be created
	outcomeCreated                // the link was created or restored
	outcomeFailed                 // the link cannot be created any more
)

// outcomeOf returns the outcome of a pending link from the events of its stream. If a link
// is still open after ClaimTimeout, round.resolve abandons it by an event in its stream, and only
// then its reservation is given back.
func outcomeOf(p events.PendingLink, account string, history []events.Event) outcome {
	if len(history) == 0 {
		return outcomeOpen
	}
	for _, e := range history {
		var at time.Time
		switch e := e.(type) {
		case events.URLCreated:
			if !p.Restored && e.Account == account {
				at = e.At
			}
		case events.URLRestored:
			if p.Restored {
				at = e.At
			}
		}
		if at.UnixMicro() == p.At.UnixMicro() {
			return outcomeCreated
		}
	}
	if p.Restored && domain.FoldLink(history).Deleted {
		return outcomeOpen
	}
	// A creation expects that there is no stream, and a restoration that the link is deleted. This
	// no longer holds, so the append of the pending link fails.
	return outcomeFailed
}
