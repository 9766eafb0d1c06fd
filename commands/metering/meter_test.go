package metering

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"linkledger/commands/commandstest"
	"linkledger/events"
	"linkledger/events/eventstore/eventstoretest"
)

func TestMeter(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 5, 14, 0, 0, 1, 0, time.UTC)
	for name, tc := range map[string]struct {
		last events.CallsMetered
		day  string
		want events.CallsMetered // at its time
	}{
		"the first": {
			events.CallsMetered{},
			"2026-05-14",
			events.CallsMetered{Calls: 3, Day: "2026-05-14", DayCalls: 3, MonthCalls: 3, At: at},
		},
		"the same day": {
			events.CallsMetered{Day: "2026-05-14", DayCalls: 5, MonthCalls: 9},
			"2026-05-14",
			events.CallsMetered{Calls: 3, Day: "2026-05-14", DayCalls: 8, MonthCalls: 12, At: at},
		},
		"the next day": {
			events.CallsMetered{Day: "2026-05-13", DayCalls: 5, MonthCalls: 9},
			"2026-05-14",
			events.CallsMetered{Calls: 3, Day: "2026-05-14", DayCalls: 3, MonthCalls: 12, At: at},
		},
		"a day too late": {
			events.CallsMetered{Day: "2026-05-15", DayCalls: 5, MonthCalls: 9},
			"2026-05-14",
			events.CallsMetered{Calls: 3, Day: "2026-05-15", DayCalls: 5, MonthCalls: 12, At: at.AddDate(0, 0, 1)},
		},
		"after a clock that was wrong": {
			events.CallsMetered{Day: "2026-05-20", DayCalls: 5, MonthCalls: 9},
			"2026-05-14",
			events.CallsMetered{Calls: 3, Day: "2026-05-14", DayCalls: 3, MonthCalls: 12, At: at},
		},
	} {
		if got := nextEvent(tc.last, tc.day, 3, tc.want.At); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

// meters are two nodes on one event store with a shared clock.
type meters struct {
	nodes []*Meter
	now   atomic.Int64 // Unix seconds
}

func newMeters(t *testing.T, server *eventstoretest.Server) *meters {
	t.Helper()
	m := &meters{}
	m.now.Store(time.Date(2026, 5, 30, 12, 0, 0, 0, time.UTC).Unix())
	for range 2 {
		m.nodes = append(m.nodes, New(Config{
			Store: eventstoretest.Open(t, server.URL()), Now: func() time.Time { return time.Unix(m.now.Load(), 0) },
		}))
	}
	return m
}

// TestCallsOverNodes checks that nodes count each other's calls once all have reported, and that
// they refuse calls over the limit until the next day.
func TestCallsOverNodes(t *testing.T) {
	t.Parallel()
	m := newMeters(t, eventstoretest.Serve(t))
	account := uuid.NewString()
	const limit = 100
	for round, want := range []int{60, 0} {
		commandstest.Together(120, func(i int) {
			if counted := m.nodes[i%2].Count(account, limit); counted != (want > 0) {
				t.Errorf("round %d: a call was counted: %v", round, counted)
			}
		})
		commandstest.Together(2, func(i int) { m.nodes[i].reportAll(t.Context()) })
		for _, node := range m.nodes {
			node.Today(t.Context(), account) // the first node to report has not read the other's calls yet
		}
	}
	for i, node := range m.nodes {
		if got := node.Today(t.Context(), account); got != 120 {
			t.Errorf("node %d counts %d calls, want 120", i, got)
		}
		if !node.Count(account, 121) || !node.Count(account, 0) {
			t.Errorf("node %d refuses a call within a higher limit", i)
		}
	}
	m.now.Add(24 * 60 * 60)
	for i, node := range m.nodes {
		if !node.Count(account, limit) || node.Today(t.Context(), account) != 1 {
			t.Errorf("node %d does not start again on the next day", i)
		}
	}
}

// TestCallsAreReportedOnce checks that each call is reported once, in any order of counting and
// reporting, across the ends of days and months, and with appends whose outcome is unknown.
func TestCallsAreReportedOnce(t *testing.T) {
	t.Parallel()
	server := eventstoretest.Serve(t)
	store := eventstoretest.Open(t, server.URL())
	rapid.Check(t, func(r *rapid.T) {
		m := newMeters(t, server)
		account := uuid.NewString()
		total := int64(0)
		r.Repeat(map[string]func(*rapid.T){
			"count": func(r *rapid.T) {
				for range rapid.IntRange(1, 9).Draw(r, "calls") {
					m.nodes[rapid.IntRange(0, 1).Draw(r, "node")].Count(account, 0)
					total++
				}
			},
			"report": func(r *rapid.T) { m.nodes[rapid.IntRange(0, 1).Draw(r, "node")].reportAll(t.Context()) },
			"cut off": func(r *rapid.T) {
				ctx, cancel := context.WithTimeout(
					t.Context(), time.Duration(rapid.IntRange(0, 1000).Draw(r, "µs"))*time.Microsecond,
				)
				defer cancel()
				m.nodes[rapid.IntRange(0, 1).Draw(r, "node")].reportAll(ctx)
			},
			"the next day": func(*rapid.T) { m.now.Add(24 * 60 * 60) },
		})
		for range 2 {
			for _, node := range m.nodes {
				node.reportAll(t.Context())
			}
		}
		reported, sum := int64(0), int64(0)
		for _, month := range []string{"2026-05", "2026-06", "2026-07", "2026-08", "2026-09"} {
			recorded, err := store.Load(t.Context(), events.StreamUsage+account+"-"+month)
			if err != nil {
				r.Fatal(err)
			}
			for i, stored := range recorded {
				e, err := stored.Event()
				if err != nil {
					r.Fatal(err)
				}
				reported += e.(events.CallsMetered).Calls
				if i == len(recorded)-1 {
					sum += e.(events.CallsMetered).MonthCalls
				}
			}
		}
		if reported != total || sum != total {
			r.Fatalf("%d calls were reported and %d added up, %d were counted", reported, sum, total)
		}
	})
}

// TestCallsOfAStoppedNode checks that a node reports its calls before it stops, and that a node
// continues to count without the event store.
func TestCallsOfAStoppedNode(t *testing.T) {
	t.Parallel()
	server := eventstoretest.Serve(t)
	m := newMeters(t, server)
	account := uuid.NewString()
	for range 3 {
		m.nodes[0].Count(account, 4)
	}
	m.nodes[0].Today(t.Context(), account)
	server.Stop()
	gone, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	m.nodes[0].reportAll(gone)
	if got := m.nodes[0].Today(gone, account); got != 3 {
		t.Errorf("%d calls without the event store, want 3", got)
	}
	if !m.nodes[0].Count(account, 4) || m.nodes[0].Count(account, 4) {
		t.Error("the limit of 4 does not hold without the event store")
	}
	server.Start()
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := m.nodes[0].Run(stopped); err != nil {
		t.Error(err)
	}
	if got := m.nodes[1].Today(t.Context(), account); got != 4 {
		t.Errorf("%d calls were reported, want 4", got)
	}
	if m.nodes[1].Count(account, 4) {
		t.Error("the other node counts a fifth call")
	}
}

// BenchmarkMeter counts one call of each of 1,000 accounts and reports them.
func BenchmarkMeter(b *testing.B) {
	store := eventstoretest.Open(b, eventstoretest.ServeFolder(b, b.TempDir()).URL())
	node := New(Config{Store: store})
	for b.Loop() {
		for i := range 1000 {
			node.Count("account-"+strconv.Itoa(i), 0)
		}
		node.reportAll(b.Context())
	}
}

// TestCallsWithoutALimitAreReportedRarely checks that calls with a limit are reported in each round,
// and others in every fifth.
func TestCallsWithoutALimitAreReportedRarely(t *testing.T) {
	t.Parallel()
	m := newMeters(t, eventstoretest.Serve(t))
	limited, free := uuid.NewString(), uuid.NewString()
	for round := 1; round <= 2*unlimitedRounds; round++ {
		m.nodes[0].Count(limited, 100)
		m.nodes[0].Count(free, 0)
		m.nodes[0].reportWhere(t.Context(), (*usage).endsWaiting)
		if got := m.nodes[1].Today(t.Context(), limited); got != int64(round) {
			t.Errorf("round %d: %d calls with a limit are reported", round, got)
		}
		want := round - round%unlimitedRounds
		if got := m.nodes[1].Today(t.Context(), free); got != int64(want) {
			t.Errorf("round %d: %d calls without a limit are reported, want %d", round, got, want)
		}
	}
}
