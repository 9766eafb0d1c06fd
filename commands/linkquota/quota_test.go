package linkquota

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"linkledger/commands/commandstest"
	"linkledger/commands/domain"
	"linkledger/events"
)

func TestFateOf(t *testing.T) {
	t.Parallel()
	p := events.PendingLink{URLID: "u", At: commandstest.At}
	other := commandstest.Created()
	other.At = commandstest.At.Add(time.Microsecond)
	ours := commandstest.Created()
	ours.At = commandstest.At
	foreign := ours
	foreign.Account = "b"
	for name, tc := range map[string]struct {
		history []events.Event
		want    outcome
	}{
		"nothing yet":                {nil, outcomeOpen},
		"created":                    {[]events.Event{ours}, outcomeCreated},
		"created and deleted":        {[]events.Event{ours, events.URLDeleted{At: commandstest.At}}, outcomeCreated},
		"created by another account": {[]events.Event{foreign}, outcomeFailed},
		"created by another try":     {[]events.Event{other}, outcomeFailed},
		"kept from coming":           {[]events.Event{events.CreationAbandoned{At: commandstest.At}}, outcomeFailed},
		"its claim was abandoned":    {[]events.Event{events.ClaimAbandoned{At: commandstest.At}}, outcomeFailed},
	} {
		if got := outcomeOf(p, "a", tc.history); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// quotaModel is an account: the state of its stream, the true counts of its links, and the counts
// in the read model.
type quotaModel struct {
	quota           quota
	plan            domain.Plan
	now             time.Time
	existing        Existing // of the read model
	truth           Existing // of the links themselves
	open            []events.PendingLink
	created, failed reservationSet // reported to the node but not yet in the stream
	lost            reservationSet // created or failed, but the node was killed before it reported
	createdUnder    reservationSet // the members of lost that were created
}

func (m *quotaModel) live() int64 { return m.truth.Created - m.truth.Deleted }

// reserve reserves up to n links in one append.
func (m *quotaModel) reserve(n int) int {
	before := m.quota.withExisting(m.existing, m.now)
	after := foldQuota(before.change(nil, m.failed, m.created, m.now), m.now)
	var reserved []events.PendingLink
	for range n {
		if after.remaining(m.plan, m.existing) > int64(len(reserved)) {
			reserved = append(reserved, events.PendingLink{URLID: uuid.NewString(), At: m.now})
		}
	}
	m.quota = foldQuota(before.change(reserved, m.failed, m.created, m.now), m.now)
	m.created, m.failed = reservationSet{}, reservationSet{}
	m.open = append(m.open, reserved...)
	return len(reserved)
}

func (m *quotaModel) create(p events.PendingLink) {
	m.truth.Created++
	if monthOf(p.At) == monthOf(m.now) {
		m.truth.Month++
	}
}

// TestQuotaIsExact reserves, creates, fails and deletes links in any order, kills nodes, and delays
// the read model. The number of links never exceeds the plan, and in the end exactly the remaining
// links can be reserved.
func TestQuotaIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		m := &quotaModel{
			plan: domain.Plan{
				URLs: rapid.Int64Range(0, 12).Draw(r, "urls"), MonthURLs: rapid.Int64Range(0, 20).Draw(r, "month"),
			},
			now: commandstest.At, created: reservationSet{}, failed: reservationSet{}, lost: reservationSet{}, createdUnder: reservationSet{},
		}
		// Links created before the account had limits.
		old := rapid.Int64Range(0, 15).Draw(r, "old")
		m.truth = Existing{Created: old, Month: old}
		m.existing = m.truth
		most := max(old, m.plan.URLs)
		take := func(r *rapid.T) (events.PendingLink, bool) {
			if len(m.open) == 0 {
				return events.PendingLink{}, false
			}
			i := rapid.IntRange(0, len(m.open)-1).Draw(r, "link")
			p := m.open[i]
			m.open = slices.Delete(m.open, i, i+1)
			return p, true
		}
		r.Repeat(map[string]func(*rapid.T){
			"reserve": func(r *rapid.T) { m.reserve(rapid.IntRange(1, 5).Draw(r, "links")) },
			"create": func(r *rapid.T) {
				if p, ok := take(r); ok {
					m.create(p)
					m.created[keyOf(p)] = struct{}{}
				}
			},
			"fail": func(r *rapid.T) {
				if p, ok := take(r); ok {
					m.failed[keyOf(p)] = struct{}{}
				}
			},
			"killed": func(r *rapid.T) {
				if p, ok := take(r); ok {
					m.lost[keyOf(p)] = struct{}{}
					if rapid.Bool().Draw(r, "created") {
						m.create(p)
						m.createdUnder[keyOf(p)] = struct{}{}
					}
				}
			},
			"settled": func(*rapid.T) { // by the node that looks up pending links
				for p := range m.lost {
					if _, ok := m.createdUnder[p]; ok {
						m.created[p] = struct{}{}
					} else {
						m.failed[p] = struct{}{}
					}
				}
				m.lost = reservationSet{}
			},
			"delete": func(*rapid.T) {
				if m.live() > 0 {
					m.truth.Deleted++
				}
			},
			"read model": func(*rapid.T) { m.existing = m.truth },
			"next month": func(*rapid.T) {
				m.now = m.now.AddDate(0, 1, 0)
				m.truth.Month, m.existing.Month = 0, 0
			},
			"": func(r *rapid.T) {
				if m.plan.URLs > 0 && m.live() > most {
					r.Fatalf("%d links, at most %d are allowed", m.live(), most)
				}
				if m.plan.MonthURLs > 0 && m.truth.Month > max(old, m.plan.MonthURLs) {
					r.Fatalf("%d links of the month, at most %d are allowed", m.truth.Month, m.plan.MonthURLs)
				}
			},
		})
		for p := range m.lost {
			if _, ok := m.createdUnder[p]; !ok {
				m.failed[p] = struct{}{}
			}
		}
		for _, p := range m.open {
			m.failed[keyOf(p)] = struct{}{}
		}
		m.existing = m.truth
		m.open = nil
		m.reserve(0)
		if used := m.quota.taken - m.truth.Deleted; used != m.live() {
			r.Fatalf("%d links are reserved, there are %d", used, m.live())
		}
		if m.plan.MonthURLs == 0 && m.plan.URLs > 0 {
			if got, want := m.reserve(50), max(m.plan.URLs-m.live(), 0); int64(got) != want {
				r.Fatalf("%d more links were reserved, want %d", got, want)
			}
		}
	})
}

func TestFateOfARestoration(t *testing.T) {
	t.Parallel()
	p := events.PendingLink{URLID: "u", At: commandstest.At.Add(time.Hour), Restored: true}
	gone := slices.Clip([]events.Event{commandstest.Created(), events.URLDeleted{At: commandstest.At}})
	mine, other := events.URLRestored{
		Hash: "h", At: p.At,
	}, events.URLRestored{Hash: "h", At: commandstest.At.Add(time.Minute)}
	for name, tc := range map[string]struct {
		history []events.Event
		want    outcome
	}{
		"under way":               {gone, outcomeOpen},
		"came":                    {append(gone, mine), outcomeCreated},
		"came and went":           {append(gone, mine, events.URLDeleted{At: commandstest.At}), outcomeCreated},
		"another one came":        {append(gone, other), outcomeFailed},
		"another one was deleted": {append(gone, other, events.URLDeleted{At: commandstest.At}), outcomeOpen},
	} {
		if got := outcomeOf(p, "a", tc.history); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// TestTimesAfterAWrongClock checks that nothing of an account follows the reservations of a node whose clock was ahead
// by 40 days: neither the times of later links nor the month that they count in.
func TestTimesAfterAWrongClock(t *testing.T) {
	t.Parallel()
	now := commandstest.At
	ahead := now.Add(40 * 24 * time.Hour)
	plan := domain.Plan{MonthURLs: 3}
	wrong := foldQuota(events.QuotaChanged{}, ahead).withExisting(Existing{}, ahead)
	left := wrong.change([]events.PendingLink{{URLID: "a", At: ahead}}, nil, nil, ahead)

	q := foldQuota(left, now)
	if at := q.nextTime(now); at != now {
		t.Errorf("the next link is reserved at %s", at)
	}
	q = q.withExisting(Existing{Created: 2, Month: 2}, now)
	if q.remaining(plan, Existing{}) != 1 || q.month != monthOf(now) {
		t.Errorf("%d links are left in %s", q.remaining(plan, Existing{}), q.month)
	}
	changed := q.change([]events.PendingLink{{URLID: "b", At: now}}, nil, nil, now)
	if changed.At != now || changed.MonthTaken != 3 {
		t.Errorf("changed at %s, with %d links in the month", changed.At, changed.MonthTaken)
	}
	// A clock that is a little ahead is followed, so that no two reservations have one time.
	soon := now.Add(events.MaxLead)
	q = foldQuota(events.QuotaChanged{At: soon}, now)
	if at := q.nextTime(now); at != soon.Add(time.Microsecond) {
		t.Errorf("after a reservation at %s the next one is at %s", soon, at)
	}
}
