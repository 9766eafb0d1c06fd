package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"

	"linkledger/commands/spool"
	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
)

// counter is a node that records clicks.
type counter struct {
	t      testing.TB
	clicks *Clicks
	spool  *spool.Spool
	stop   context.CancelFunc
	ended  chan error
}

// count starts a node on a spool folder; without a folder it has no spool.
func count(t testing.TB, store *eventstore.Store, folder string, cfg ClicksConfig, limits spool.Config) *counter {
	t.Helper()
	c := &counter{t: t, ended: make(chan error, 1)}
	cfg.Store = store
	if folder != "" {
		var err error
		limits.Dir = folder
		if c.spool, err = spool.Open(limits); err != nil {
			t.Fatal(err)
		}
		cfg.Spool = c.spool
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	c.stop, c.clicks = stop, NewClicks(cfg)
	go func() { c.ended <- c.clicks.Run(ctx) }()
	t.Cleanup(c.end)
	return c
}

// end stops the node; what is in the spool stays there.
func (c *counter) end() {
	c.t.Helper()
	if c.stop == nil {
		return
	}
	c.stop()
	c.stop = nil
	if err := <-c.ended; err != nil {
		c.t.Error(err)
	}
	if c.spool != nil {
		if err := c.spool.Close(); err != nil {
			c.t.Error(err)
		}
	}
}

// record records the clicks from one number to another at the same time.
func (c *counter) record(from, to int) {
	c.t.Helper()
	together(to-from, func(i int) {
		if err := c.clicks.Record(c.t.Context(), Click{URLID: fmt.Sprint(from + i), At: at}); err != nil {
			c.t.Error(err)
		}
	})
}

// drained returns when the spool is empty.
func (c *counter) drained() {
	c.t.Helper()
	deadline := time.After(time.Minute)
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for c.spool.Stats().Records > 0 {
		select {
		case <-look.C:
		case <-deadline:
			c.t.Fatalf("the spool does not drain: %+v, %v", c.clicks.Stats(), c.clicks.Health())
		}
	}
}

// appends reads all clicks in the log.
func appends(t testing.TB, server *eventstoretest.Server) (seen map[string]int, groups int) {
	t.Helper()
	config, err := esdb.ParseConnectionString(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	config.Logger = esdb.NoopLogging()
	client, err := esdb.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	all, err := client.ReadAll(t.Context(), esdb.ReadAllOptions{From: esdb.Start{}}, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	seen = make(map[string]int)
	for {
		e, err := all.Recv()
		if errors.Is(err, io.EOF) {
			return seen, groups
		}
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(e.Event.StreamID, events.StreamClicks) || strings.HasPrefix(e.Event.EventType, "$") {
			continue
		}
		decoded, err := events.Decode(e.Event.EventType, e.Event.Data)
		if err != nil {
			t.Fatal(err)
		}
		groups++
		for _, click := range decoded.(events.ClicksRecorded).Clicks {
			seen[click.URLID]++
		}
	}
}

// allOnce demands the clicks up to a number in the log, each once.
func allOnce(t testing.TB, server *eventstoretest.Server, n int) (groups int) {
	t.Helper()
	seen, groups := appends(t, server)
	if len(seen) != n {
		t.Errorf("%d clicks are in the log, want %d", len(seen), n)
	}
	for i := range n {
		if seen[fmt.Sprint(i)] != 1 {
			t.Fatalf("click %d is in the log %d times", i, seen[fmt.Sprint(i)])
		}
	}
	return groups
}

func TestClicks(t *testing.T) {
	t.Parallel()
	server := eventstoretest.Serve(t)
	c := count(t, eventstoretest.Open(t, server.URL()), "", ClicksConfig{}, spool.Config{})
	const n = 10_000
	c.record(0, n)
	c.end()
	if err := c.clicks.Record(t.Context(), Click{}); !errors.Is(err, ErrClicksClosed) {
		t.Errorf("a click after the end: %v", err)
	}
	if groups := allOnce(t, server, n); groups > n/10 {
		t.Errorf("%d appends for %d concurrent clicks", groups, n)
	}
}

// While the event store is away clicks go to the spool; they come to the log once it is back, also when the node was
// restarted in between, and when the store went away again while the spool drained.
func TestClicksOutliveOutages(t *testing.T) {
	t.Parallel()
	server, folder := eventstoretest.Serve(t), t.TempDir()
	store := eventstoretest.Open(t, server.URL())
	c := count(t, store, folder, ClicksConfig{}, spool.Config{})
	c.record(0, 100)
	server.Stop()
	for i := 100; i < 1000; i += 100 {
		c.record(i, i+100)
	}
	if stats := c.clicks.Stats(); stats.Spooled < 900 || stats.Spool.Records == 0 || stats.Lost != 0 || c.clicks.Health() != nil {
		t.Errorf("in the outage: %+v, %v", stats, c.clicks.Health())
	}
	c.end()
	c = count(t, store, folder, ClicksConfig{}, spool.Config{})
	c.record(1000, 1100)
	server.Start()
	c.record(1100, 1200)
	server.Stop()
	c.record(1200, 1300)
	server.Start()
	c.drained()
	c.record(1300, 1400)
	c.end()
	allOnce(t, server, 1400)
}

// Appends that the event store carries out after the clicks have gone to the spool count once. Nearly every append here
// is late.
func TestLateAppendsCountOnce(t *testing.T) {
	t.Parallel()
	server, folder := eventstoretest.Serve(t), t.TempDir()
	store := eventstoretest.Open(t, server.URL())
	const rounds, size = 40, 50
	for round := range rounds {
		patience := []time.Duration{time.Nanosecond, 200 * time.Microsecond, time.Millisecond}[round%3]
		c := count(t, store, folder, ClicksConfig{Patience: patience}, spool.Config{})
		for i := range size {
			c.record(round*size+i, round*size+i+1)
		}
		c.end()
	}
	c := count(t, store, folder, ClicksConfig{}, spool.Config{})
	c.drained()
	c.end()
	allOnce(t, server, rounds*size)
}

// Records that a crash brings back to the spool are recognised by the event store.
func TestDrainedClicksComeBack(t *testing.T) {
	t.Parallel()
	server, folder := eventstoretest.Serve(t), t.TempDir()
	store := eventstoretest.Open(t, server.URL())
	if _, err := store.Head(t.Context()); err != nil { // it serves
		t.Fatal(err)
	}
	server.Stop()
	c := count(t, store, folder, ClicksConfig{Patience: time.Millisecond}, spool.Config{})
	for i := range 20 {
		c.record(i, i+1)
	}
	c.end()
	server.Start()
	queue, err := spool.Open(spool.Config{Dir: folder})
	if err != nil {
		t.Fatal(err)
	}
	half := NewClicks(ClicksConfig{Store: store, Spool: queue})
	for range 10 {
		if err := half.drainOne(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := queue.Close(); err != nil { // as a kill: the segment is not deleted yet
		t.Fatal(err)
	}
	c = count(t, store, folder, ClicksConfig{}, spool.Config{})
	if c.spool.Stats().Records != 20 {
		t.Fatalf("%+v", c.spool.Stats())
	}
	c.drained()
	c.end()
	allOnce(t, server, 20)
}

// A full spool in an outage is the only case of loss. It is told, and it ends. What the event store was asked for before the
// click was given up it may carry out when it is back.
func TestFullSpoolLosesClicks(t *testing.T) {
	t.Parallel()
	server := eventstoretest.Serve(t)
	c := count(t, eventstoretest.Open(t, server.URL()), t.TempDir(), ClicksConfig{Patience: 100 * time.Millisecond}, spool.Config{MaxBytes: 1000})
	c.record(0, 1)
	c.drained()
	server.Stop()
	kept := 1
	for c.clicks.Stats().Lost == 0 {
		c.record(kept, kept+1)
		kept++
	}
	lost := kept - 1
	if err := c.clicks.Health(); !errors.Is(err, spool.ErrFull) {
		t.Errorf("health: %v", err)
	}
	server.Start()
	c.drained()
	c.record(kept, kept+100)
	c.drained()
	c.end()
	if stats := c.clicks.Stats(); stats.Lost != 1 {
		t.Errorf("%+v", stats)
	}
	seen, _ := appends(t, server)
	for i := range kept + 100 {
		if times := seen[fmt.Sprint(i)]; times != 1 && (i != lost || times > 1) {
			t.Errorf("click %d is in the log %d times, the lost one is %d", i, times, lost)
		}
	}
}
