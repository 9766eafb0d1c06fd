package monitor_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/internal/operators/monitor"
	"linkledger/projections"
	"linkledger/projections/engine"
	"linkledger/projections/engine/status"
	"linkledger/projections/projectionstest"
	"linkledger/projections/readmodel"
)

func TestMain(m *testing.M) { projectionstest.Main(m) }

// site is a log with a link, whose projections show it.
type site struct {
	db     *readmodel.DB
	store  *eventstore.Store
	events *eventstoretest.Server
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{db: projectionstest.Open(t), events: eventstoretest.Serve(t)}
	var err error
	if s.store, err = eventstore.Open(eventstore.Config{URL: s.events.URL()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.store.Close)
	log := projectionstest.NewWriter(t, s.store)
	log.Link(log.Account(), "one")
	projectionstest.Run(t, engine.Config{DB: s.db, Store: s.store})
	ctx := projectionstest.Context(t)
	head, err := s.store.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range projections.Names() {
		if err := projections.Await(ctx, s.db, s.store, name, head); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// monitor returns a monitor that runs.
func (s *site) monitor(t *testing.T, patience, interval time.Duration) *monitor.Monitor {
	t.Helper()
	m := monitor.New(monitor.Config{DB: s.db, Store: s.store, Patience: patience, Interval: interval})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { m.Run(ctx); close(ended) }()
	t.Cleanup(func() { stop(); <-ended })
	return m
}

// until calls done until it returns true.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for ctx := projectionstest.Context(t); !done(); {
		select {
		case <-ctx.Done():
			t.Fatal("never: " + what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// TestRead checks what is known of projections while the event store answers, and while it does not.
func TestRead(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	m := s.monitor(t, time.Minute, time.Hour)
	read, err := m.Read(t.Context())
	if err != nil || read.Store != "" || len(read.Generations) != len(projections.Names()) {
		t.Fatalf("%+v, %v", read, err)
	}
	for _, g := range read.Generations {
		if !g.Serving || g.Percent != 100 || g.Behind != "0" || g.Problem() != "" || g.Named() != g.Name {
			t.Errorf("%+v", g)
		}
	}
	if err := projections.Pause(t.Context(), s.db, projections.Tags); err != nil {
		t.Fatal(err)
	}
	read, err = m.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range read.Generations {
		if paused := g.Problem() == "is paused by an operator"; paused != (g.Name == projections.Tags) {
			t.Errorf("%s: %q", g.Name, g.Problem())
		}
	}

	s.events.Stop()
	read, err = s.monitor(t, 20*time.Millisecond, time.Hour).Read(t.Context())
	if err != nil || !strings.HasPrefix(read.Store, "The event store does not answer: ") {
		t.Fatalf("%+v, %v", read, err)
	}
	for _, g := range read.Generations {
		if g.Progress != "unknown" || g.Behind != "unknown" || g.Since != "unknown" || g.Percent != 0 {
			t.Errorf("without the event store, it is known of %s that %+v", g.Name, g)
		}
	}
}

// TestProblems checks the problem that an operator reads about a generation.
func TestProblems(t *testing.T) {
	t.Parallel()
	for state, want := range map[status.State]string{
		status.Live: "", status.Kept: "", status.Building: "",
		status.Stopped: "has stopped: why", status.Failing: "fails, and tries again: why",
		status.Paused: "is paused by an operator", status.Unowned: "is kept up to date by no process",
		status.Misplaced:  "is at a position that the log does not have: rebuild it. why",
		status.CatchingUp: "is behind by 3 s",
	} {
		g := monitor.Generation{Since: "3 s"}
		g.Name, g.Generation, g.State, g.LastError = "links", 2, state, "why"
		if got := g.Problem(); got != want {
			t.Errorf("%s: %q, want %q", state, got, want)
		}
		if got := g.Named(); got != "generation 2 of links" {
			t.Errorf("named %q", got)
		}
	}
}

// TestSamples checks that a monitor samples without an open page, and not twice at a time.
func TestSamples(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	busy := s.monitor(t, time.Minute, time.Millisecond)
	until(t, "three samples", func() bool { return len(busy.Samples(projections.Links)) >= 3 })
	idle := s.monitor(t, time.Minute, time.Hour)
	for range 3 { // at once
		if _, err := idle.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	samples := idle.Samples(projections.Links)
	if len(samples) != 1 || samples[0].Behind != 0 || samples[0].At.IsZero() {
		t.Errorf("samples %+v, want one", samples)
	}
	if none := idle.Samples("none"); len(none) != 0 {
		t.Errorf("an unknown projection has %+v", none)
	}
}

// TestVerify checks that a verification finds a row that differs from the log, and says why it fails.
func TestVerify(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	m := s.monitor(t, time.Minute, time.Hour)
	if v := m.Verification(projections.Links); v != nil {
		t.Errorf("before it is asked for, there is %+v", v)
	}
	verify := func() monitor.Verification {
		t.Helper()
		m.Verify(projections.Links)
		until(t, "the end of the verification", func() bool { return !m.Verification(projections.Links).Ended.IsZero() })
		return *m.Verification(projections.Links)
	}
	if v := verify(); !v.Holds() || v.Problem != "" {
		t.Errorf("%+v, want no difference", v)
	}
	projectionstest.Exec(t, s.db, "UPDATE links_g1.links SET note = 'x'")
	if v := verify(); v.Holds() || v.Result.Different != 1 {
		t.Errorf("%+v, want one difference", v)
	}
	projectionstest.Exec(t, s.db, "DROP TABLE links_g1.links CASCADE")
	if v := verify(); v.Holds() || !strings.Contains(v.Problem, "verify links: ") {
		t.Errorf("%+v, want a failure", v)
	}
}
