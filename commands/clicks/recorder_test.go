package clicks

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/google/uuid"

	"linkledger/commands/clicks/spool"
	"linkledger/commands/commandstest"
	"linkledger/events"
	"linkledger/events/codec"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/internal/soak"
)

// counter is a node that records clicks.
type counter struct {
	t      testing.TB
	clicks *Recorder
	spool  *spool.Spool
	stop   context.CancelFunc
	ended  chan error
}

// count starts a node on a spool folder. If folder is empty, the node has no spool.
func count(t testing.TB, store *eventstore.Store, folder string, cfg Config, limits spool.Config) *counter {
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
	c.stop, c.clicks = stop, New(cfg)
	go func() { c.ended <- c.clicks.Run(ctx) }()
	t.Cleanup(c.end)
	return c
}

// end stops the node and leaves the spool unchanged.
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

// record records clicks from to to-1 concurrently.
func (c *counter) record(from, to int) {
	c.t.Helper()
	commandstest.Together(to-from, func(i int) {
		if err := c.clicks.Record(c.t.Context(), Click{URLID: strconv.Itoa(from + i), At: commandstest.At}); err != nil {
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

// appends returns how often each click is in the log, and the number of groups.
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
		decoded, err := codec.Decode(e.Event.EventType, e.Event.Data)
		if err != nil {
			t.Fatal(err)
		}
		groups++
		for _, click := range decoded.(events.ClicksRecorded).Clicks {
			seen[click.URLID]++
		}
	}
}

// allOnce checks that the log holds n clicks, each once.
func allOnce(t testing.TB, server *eventstoretest.Server, n int) (groups int) {
	t.Helper()
	seen, groups := appends(t, server)
	if len(seen) != n {
		t.Errorf("%d clicks are in the log, want %d", len(seen), n)
	}
	for i := range n {
		if seen[strconv.Itoa(i)] != 1 {
			t.Fatalf("click %d is in the log %d times", i, seen[strconv.Itoa(i)])
		}
	}
	return groups
}

func TestClicks(t *testing.T) {
	t.Parallel()
	server := eventstoretest.Serve(t)
	c := count(t, eventstoretest.Open(t, server.URL()), "", Config{}, spool.Config{})
	const n = 10_000
	c.record(0, n)
	c.end()
	if err := c.clicks.Record(t.Context(), Click{}); !errors.Is(err, ErrClosed) {
		t.Errorf("a click after the end: %v", err)
	}
	if groups := allOnce(t, server, n); groups > n/10 {
		t.Errorf("%d appends for %d concurrent clicks", groups, n)
	}
}

// TestClicksOutliveOutages checks that clicks go to the spool while the event store is unavailable
// and reach the log afterwards. This also holds when the node was restarted in between, and when
// the store failed again while the spool drained.
func TestClicksOutliveOutages(t *testing.T) {
	t.Parallel()
	server, folder := eventstoretest.Serve(t), t.TempDir()
	store := eventstoretest.Open(t, server.URL())
	c := count(t, store, folder, Config{}, spool.Config{})
	c.record(0, 100)
	server.Stop()
	for i := 100; i < 1000; i += 100 {
		c.record(i, i+100)
	}
	if stats := c.clicks.Stats(); stats.Spooled < 900 || stats.Backlog.Clicks != int(stats.Spooled-stats.Drained) ||
		stats.Lost != 0 || c.clicks.Health() != nil {
		t.Errorf("in the outage: %+v, %v", stats, c.clicks.Health())
	}
	c.end()
	c = count(t, store, folder, Config{}, spool.Config{})
	c.record(1000, 1100)
	server.Start()
	c.record(1100, 1200)
	server.Stop()
	c.record(1200, 1300)
	server.Start()
	c.drained()
	c.record(1300, 1400)
	c.end()
	c = count(t, store, folder, Config{}, spool.Config{}) // the last clicks may be in the spool
	c.drained()
	c.end()
	allOnce(t, server, 1400)
}

// TestLateAppendsCountOnce checks that an append counts once if the event store executes it after
// its clicks went to the spool. Nearly every append of this test is late.
func TestLateAppendsCountOnce(t *testing.T) {
	soak.NotShort(t)
	t.Parallel()
	server, folder := eventstoretest.Serve(t), t.TempDir()
	store := eventstoretest.Open(t, server.URL())
	const rounds, size = 40, 50
	for round := range rounds {
		timeout := []time.Duration{time.Nanosecond, 200 * time.Microsecond, time.Millisecond}[round%3]
		c := count(t, store, folder, Config{StoreTimeout: timeout}, spool.Config{})
		for i := range size {
			c.record(round*size+i, round*size+i+1)
		}
		c.end()
	}
	c := count(t, store, folder, Config{}, spool.Config{})
	c.drained()
	c.end()
	allOnce(t, server, rounds*size)
}

// spooledAppends returns the appends of the oldest clicks in a spool, by stream.
func spooledAppends(t *testing.T, queue *spool.Spool) map[string][][]pendingAppend {
	t.Helper()
	oldest, err := queue.Oldest(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	streams, err := byStream(oldest.Bodies)
	if err != nil {
		t.Fatal(err)
	}
	return streams
}

// TestDrainedClicksComeBack checks that the event store recognizes records that a crash left in the
// spool after they were drained.
func TestDrainedClicksComeBack(t *testing.T) {
	t.Parallel()
	server, folder := eventstoretest.Serve(t), t.TempDir()
	store := eventstoretest.Open(t, server.URL())
	if _, err := store.Head(t.Context()); err != nil { // wait until the server answers
		t.Fatal(err)
	}
	server.Stop()
	c := count(t, store, folder, Config{StoreTimeout: time.Millisecond}, spool.Config{})
	for i := range 20 {
		c.record(i, i+1)
	}
	c.end()
	server.Start()
	queue, err := spool.Open(spool.Config{Dir: folder})
	if err != nil {
		t.Fatal(err)
	}
	half := New(Config{Store: store, Spool: queue})
	var most []pendingAppend // of one stream; the first click was tried in another stream
	for _, appends := range spooledAppends(t, queue) {
		if len(appends[0]) > len(most) {
			most = appends[0]
		}
	}
	for _, writes := range [][]pendingAppend{most[:1], most[1:8], most[8:9]} {
		if diverted, err := half.deliver(t.Context(), writes); diverted > 0 || err != nil {
			t.Fatalf("%d diverted, %v", diverted, err)
		}
	}
	if err := queue.Close(); err != nil { // like a kill: the segment is not deleted yet
		t.Fatal(err)
	}
	c = count(t, store, folder, Config{}, spool.Config{})
	c.drained()
	c.end() // the drain counts what it has removed from the spool
	if c.clicks.Stats().Drained != 20 {
		t.Errorf("%+v", c.clicks.Stats())
	}
	allOnce(t, server, 20)
}

// TestDrainJoinsAppends checks that many small groups, several of each stream, drain in few round
// trips.
func TestDrainJoinsAppends(t *testing.T) {
	soak.NotShort(t)
	t.Parallel()
	server, folder := eventstoretest.Serve(t), t.TempDir()
	var appended atomic.Int64
	store, err := eventstore.Open(eventstore.Config{URL: server.URL(), OnCall: func(
		call string, _ time.Duration, err error,
	) {
		if call == "append" && err == nil {
			appended.Add(1)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	if _, err := store.Head(t.Context()); err != nil { // wait until the server answers
		t.Fatal(err)
	}
	server.Stop()
	const rounds, size = 5, 200
	for round := range rounds { // each process writes to its own stream
		c := count(t, store, folder, Config{StoreTimeout: time.Millisecond}, spool.Config{})
		for i := range size {
			c.record(round*size+i, round*size+i+1)
		}
		c.end()
	}
	server.Start()
	c := count(t, store, folder, Config{}, spool.Config{})
	c.drained()
	c.end()
	if groups := allOnce(t, server, rounds*size); groups < rounds*size/2 || appended.Load() > 4*rounds {
		t.Errorf("%d groups were drained in %d appends", groups, appended.Load())
	}
}

// TestFullSpoolLosesClicks checks that clicks are lost only if the spool is full in an outage, that
// this is reported, and that it ends. The event store may still execute the append of a lost click
// when it is available again.
func TestFullSpoolLosesClicks(t *testing.T) {
	t.Parallel()
	server := eventstoretest.Serve(t)
	c := count(
		t, eventstoretest.Open(t, server.URL()), t.TempDir(), Config{StoreTimeout: 500 * time.Millisecond},
		spool.Config{MaxBytes: 1000},
	)
	recorded := 0
	atRisk := make(map[int]bool) // clicks that were recorded together with a lost one
	record := func(n int) (lost uint64) {
		before := c.clicks.Stats().Lost
		c.record(recorded, recorded+n)
		lost = c.clicks.Stats().Lost - before
		for range n {
			atRisk[recorded] = lost > 0
			recorded++
		}
		return lost
	}
	record(1)
	c.drained()
	server.Stop()
	for record(1) == 0 {
	}
	if err := c.clicks.Health(); !errors.Is(err, spool.ErrFull) {
		t.Errorf("health: %v", err)
	}
	server.Start()
	c.drained()
	for record(100) > 0 { // as long as the disk of the event store is slower than the timeout
		c.drained()
	}
	c.drained()
	c.end()
	seen, _ := appends(t, server)
	for i := range recorded {
		if times := seen[strconv.Itoa(i)]; times > 1 || times == 0 && !atRisk[i] {
			t.Errorf("click %d is in the log %d times", i, times)
		}
	}
}

// TestFullSpoolWaitsForSlowStore checks that clicks which the spool refuses are not lost because the
// event store takes longer than clicks wait for it otherwise.
func TestFullSpoolWaitsForSlowStore(t *testing.T) {
	t.Parallel()
	server := eventstoretest.Serve(t)
	c := count(
		t, eventstoretest.Open(t, server.URL()), t.TempDir(), Config{StoreTimeout: time.Nanosecond},
		spool.Config{MaxBytes: 1},
	)
	c.record(0, 100)
	if stats := c.clicks.Stats(); stats.Lost > 0 || stats.Spooled > 0 {
		t.Errorf("%+v", stats)
	}
	c.end()
	allOnce(t, server, 100)
}

// TestFormerSpool decodes an append as a previous version spooled it.
func TestFormerSpool(t *testing.T) {
	t.Parallel()
	want := pendingAppend{
		Stream: "clicks-x", Expected: 7, Command: uuid.New(),
		Clicks: []Click{{URLID: "a", Visitor: "v", At: commandstest.At}, {URLID: "b", At: commandstest.At}},
	}
	former, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	now, err := want.encode()
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string][]byte{"former": former, "now": now} {
		if got, err := decodeSpooled(body); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, want)
		}
	}
}

// BenchmarkDrain drains a spool of 60,000 clicks in groups of three over a network with a delay of
// 5 ms in each direction.
func BenchmarkDrain(b *testing.B) {
	const groups, size = 20_000, 3
	server := eventstoretest.ServeFolder(b, b.TempDir())
	network := eventstoretest.Between(b, server.Address())
	network.Delay(5 * time.Millisecond)
	store := eventstoretest.Open(b, network.URL())
	for b.Loop() {
		b.StopTimer()
		folder := b.TempDir()
		queue, err := spool.Open(spool.Config{Dir: folder})
		if err != nil {
			b.Fatal(err)
		}
		full := New(Config{Store: store, Spool: queue})
		for range groups {
			clicks := make([]Click, size)
			for i := range clicks {
				clicks[i] = Click{
					URLID: "0198c1de-6d5c-7b7e-a5a4-3f0c9a1d2e4f", Visitor: strings.Repeat("v", 22),
					At: commandstest.At, Browser: "Firefox", OS: "Linux", Device: "desktop",
				}
			}
			if err := full.spoolAppend(full.nextAppend(clicks, false)); err != nil {
				b.Fatal(err)
			}
		}
		if err := queue.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		began := time.Now()
		c := count(b, store, folder, Config{}, spool.Config{})
		c.drained()
		b.ReportMetric(groups*size/time.Since(began).Seconds(), "clicks/s")
		b.StopTimer()
		c.end()
		b.StartTimer()
	}
}
