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
	for name, tc := range map[string]struct {
		history []events.Event
		want    fate
	}{
		"nothing yet":             {nil, fateOpen},
		"created":                 {[]events.Event{ours}, fateCame},
		"created and deleted":     {[]events.Event{ours, events.URLDeleted{At: commandstest.At}}, fateCame},
		"created by another try":  {[]events.Event{other}, fateNever},
		"kept from coming":        {[]events.Event{events.CreationAbandoned{At: commandstest.At}}, fateNever},
		"its claim was abandoned": {[]events.Event{events.ClaimAbandoned{At: commandstest.At}}, fateNever},
	} {
		if got := fateOf(p, tc.history); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// quotaModel is an account: what its stream says, what became of its links, and what the read model
// knows of them.
type quotaModel struct {
	quota        quota
	plan         domain.Plan
	now          time.Time
	existing     Existing // as the read model has it
	truth        Existing // as it is
	open         []events.PendingLink
	came, never  places // reported to the node, and not yet in the stream
	lost         places // created or failed, and the node was killed before it could report
	createdUnder places // of lost: those that were created
}

func (m *quotaModel) live() int64 { return m.truth.Created - m.truth.Deleted }

// reserve asks for room for n links, as a round does.
func (m *quotaModel) reserve(n int) int {
	before := m.quota.knowing(m.existing, m.now)
	after := foldQuota(before.change(nil, m.never, m.came, m.now))
	var reserved []events.PendingLink
	for range n {
		if after.left(m.plan, m.existing) > int64(len(reserved)) {
			reserved = append(reserved, events.PendingLink{URLID: uuid.NewString(), At: m.now})
		}
	}
	m.quota = foldQuota(before.change(reserved, m.never, m.came, m.now))
	m.came, m.never = places{}, places{}
	m.open = append(m.open, reserved...)
	return len(reserved)
}

func (m *quotaModel) create(p events.PendingLink) {
	m.truth.Created++
	if monthOf(p.At) == monthOf(m.now) {
		m.truth.Month++
	}
}

// Whatever order links take room, come, fail and are deleted in, whichever nodes are killed and
// however far behind the read model is: there are never more links than the plan allows, and in the
// end room is left for exactly the others.
func TestQuotaIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		m := &quotaModel{
			plan: domain.Plan{
				URLs: rapid.Int64Range(0, 12).Draw(r, "urls"), MonthURLs: rapid.Int64Range(0, 20).Draw(r, "month"),
			},
			now: commandstest.At, came: places{}, never: places{}, lost: places{}, createdUnder: places{},
		}
		// Links from a time without limits.
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
					m.came[placeOf(p)] = struct{}{}
				}
			},
			"fail": func(r *rapid.T) {
				if p, ok := take(r); ok {
					m.never[placeOf(p)] = struct{}{}
				}
			},
			"killed": func(r *rapid.T) {
				if p, ok := take(r); ok {
					m.lost[placeOf(p)] = struct{}{}
					if rapid.Bool().Draw(r, "created") {
						m.create(p)
						m.createdUnder[placeOf(p)] = struct{}{}
					}
				}
			},
			"settled": func(*rapid.T) { // by whoever looks for the lost ones
				for p := range m.lost {
					if _, ok := m.createdUnder[p]; ok {
						m.came[p] = struct{}{}
					} else {
						m.never[p] = struct{}{}
					}
				}
				m.lost = places{}
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
				m.never[p] = struct{}{}
			}
		}
		for _, p := range m.open {
			m.never[placeOf(p)] = struct{}{}
		}
		m.existing = m.truth
		m.open = nil
		m.reserve(0)
		if used := m.quota.taken - m.truth.Deleted; used != m.live() {
			r.Fatalf("room for %d links is taken, there are %d", used, m.live())
		}
		if m.plan.MonthURLs == 0 && m.plan.URLs > 0 {
			if got, want := m.reserve(50), max(m.plan.URLs-m.live(), 0); int64(got) != want {
				r.Fatalf("room for %d more links, want %d", got, want)
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
		want    fate
	}{
		"under way":               {gone, fateOpen},
		"came":                    {append(gone, mine), fateCame},
		"came and went":           {append(gone, mine, events.URLDeleted{At: commandstest.At}), fateCame},
		"another one came":        {append(gone, other), fateNever},
		"another one was deleted": {append(gone, other, events.URLDeleted{At: commandstest.At}), fateOpen},
	} {
		if got := fateOf(p, tc.history); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
