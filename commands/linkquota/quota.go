// Package linkquota keeps the number of links of an account within its plan, exactly, over all
// nodes.
package linkquota

import (
	"math"
	"time"

	"linkledger/commands/domain"
	"linkledger/events"
	"linkledger/events/eventstore"
)

// Existing is what a read model knows of the links of an account. It may be behind, and then there
// is less of it all.
type Existing struct {
	Created         int64  // links created so far, and restorations of deleted ones
	Deleted         int64  // of these
	Month           int64  // links created in the current month, also those deleted since
	Commit, Prepare uint64 // position of the log up to which it knows
}

func (e Existing) position() eventstore.Position {
	return eventstore.Position{Commit: e.Commit, Prepare: e.Prepare}
}

// place names the room of a link: by the link's id and the time that its creation carries. Of two
// tries to create a link with the same id each has a place of its own.
type place struct {
	link string
	at   int64 // Unix microseconds
}

func placeOf(p events.PendingLink) place { return place{p.URLID, p.At.UnixMicro()} }

// places is a set.
type places map[place]struct{}

func (s places) has(p events.PendingLink) bool {
	_, ok := s[placeOf(p)]
	return ok
}

// quota is how much room the links of an account have taken. Every link that is created takes room
// first, so room is never less than there are links.
type quota struct {
	taken      int64 // so far, also by links that were deleted since
	month      string
	monthTaken int64
	pending    []events.PendingLink
	last       time.Time // not before any place that there has been
}

func foldQuota(e events.QuotaChanged) quota {
	q := quota{
		taken: e.Taken, month: e.Month, monthTaken: e.MonthTaken, pending: e.Pending, last: e.At,
	}
	for _, p := range e.Pending {
		if p.At.After(q.last) {
			q.last = p.At
		}
	}
	return q
}

// knowing is the quota where links exist that were created while the account had no limit, and when
// a month is over.
func (q quota) knowing(e Existing, now time.Time) quota {
	if month := monthOf(now); q.month < month {
		q.month, q.monthTaken = month, 0
	}
	q.taken = max(q.taken, e.Created)
	if q.month == monthOf(now) { // and no node's clock is ahead
		q.monthTaken = max(q.monthTaken, e.Month)
	}
	return q
}

// left is how many links a plan still has room for; less than none where it had more room once.
func (q quota) left(p domain.Plan, e Existing) int64 {
	left := int64(math.MaxInt64)
	if p.URLs > 0 {
		left = p.URLs - (q.taken - e.Deleted)
	}
	if p.MonthURLs > 0 {
		left = min(left, p.MonthURLs-q.monthTaken)
	}
	return left
}

// free is the first moment from now on, in microseconds, that no link has had for its place: clocks
// differ, stand and go back.
func (q quota) free(now time.Time) time.Time {
	if !now.After(q.last) {
		return q.last.Add(time.Microsecond)
	}
	return now
}

// change is the event that gives room to links, takes it back from others, and forgets those that
// are known to have come. Room is taken back from pending links alone, and so once.
func (q quota) change(
	reserved []events.PendingLink, returned, came places, at time.Time,
) events.QuotaChanged {
	if at.Before(q.last) {
		at = q.last
	}
	e := events.QuotaChanged{
		Reserved: reserved, Taken: q.taken, Month: q.month, MonthTaken: q.monthTaken, At: at,
	}
	for _, p := range q.pending {
		switch {
		case returned.has(p):
			e.Returned = append(e.Returned, p)
		case !came.has(p):
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

// fate is what became of a pending link.
type fate int

const (
	fateOpen  fate = iota // it may still come
	fateCame              // it was created
	fateNever             // it can't come any more
)

// fateOf judges a pending link by its stream. A link that does not come within ClaimTimeout has to
// be kept from coming.
func fateOf(p events.PendingLink, history []events.Event) fate {
	if len(history) == 0 {
		return fateOpen
	}
	for _, e := range history {
		var came time.Time
		switch e := e.(type) {
		case events.URLCreated:
			if !p.Restored {
				came = e.At
			}
		case events.URLRestored:
			if p.Restored {
				came = e.At
			}
		}
		if came.UnixMicro() == p.At.UnixMicro() {
			return fateCame
		}
	}
	if p.Restored && domain.FoldLink(history).Deleted {
		return fateOpen
	}
	// its creation expects that there is no stream, and its restoration that it is deleted
	return fateNever
}
