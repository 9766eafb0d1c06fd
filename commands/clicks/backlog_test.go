package clicks

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"linkledger/commands/clicks/spool"
	"linkledger/commands/commandstest"
	"linkledger/events/eventstore/eventstoretest"
)

// TestPace measures a spool that fills and then drains while more clicks arrive.
func TestPace(t *testing.T) {
	t.Parallel()
	var p rates
	now := commandstest.At
	queue := spool.Stats{Records: 10, Items: 300, Bytes: 4000, Oldest: commandstest.At}
	for i, tc := range []struct {
		drained, queued uint64
		want            string
	}{
		{0, 0, "300 clicks, 4000 bytes, the oldest from 0s ago; 0 a second leave, does not get emptier"},
		{0, 100, "300 clicks, 4000 bytes, the oldest from 1s ago; 0 a second leave, does not get emptier"},
		{400, 200, "300 clicks, 4000 bytes, the oldest from 2s ago; 200 a second leave, 2s left"},
		{800, 300, "300 clicks, 4000 bytes, the oldest from 3s ago; 300 a second leave, 1s left"},
	} {
		p.measure(now, tc.drained, tc.queued)
		if got := p.backlog(queue, now).String(); got != tc.want {
			t.Errorf("after %d s: %s, want %s", i, got, tc.want)
		}
		now = now.Add(time.Second)
	}
	if got := p.backlog(spool.Stats{}, now).String(); got != "empty" {
		t.Errorf("an empty spool: %s", got)
	}
}

// TestBacklogIsLogged checks that one line is logged when clicks begin to wait, one every ten
// seconds, and one at the end.
func TestBacklogIsLogged(t *testing.T) {
	t.Parallel()
	server := eventstoretest.Serve(t)
	store := eventstoretest.Open(t, server.URL())
	if _, err := store.Head(t.Context()); err != nil { // wait until the server answers
		t.Fatal(err)
	}
	server.Stop()
	var logged bytes.Buffer
	log := slog.New(slog.NewTextHandler(&logged, nil))
	c := count(t, store, t.TempDir(), Config{StoreTimeout: time.Millisecond}, spool.Config{})
	observed := &Recorder{cfg: c.clicks.cfg} // the same spool, with a separate log
	observed.cfg.Logger = log
	last := time.Time{}
	lines := func() (n int) { return strings.Count(logged.String(), "\n") }
	tick := func(second, want int) {
		t.Helper()
		if last = observed.logBacklog(
			t.Context(), commandstest.At.Add(time.Duration(second)*time.Second), last,
		); lines() != want {
			t.Errorf("after %d s: %d lines, want %d:\n%s", second, lines(), want, logged.String())
		}
	}
	tick(0, 0)
	c.record(0, 7)
	tick(1, 1)
	tick(10, 1)
	tick(11, 2)
	if !strings.Contains(logged.String(), "clicks=7") {
		t.Errorf("logged: %s", logged.String())
	}
	server.Start()
	c.drained()
	tick(12, 3)
	tick(30, 3)
}
