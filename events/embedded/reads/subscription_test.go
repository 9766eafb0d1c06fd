package reads_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"linkledger/events/embedded"
	"linkledger/events/embedded/servertest"
	"linkledger/internal/soak"
)

// collect receives events until it has seen n of them.
func collect(t *testing.T, sub *esdb.Subscription, n int) []*esdb.ResolvedEvent {
	t.Helper()
	var got []*esdb.ResolvedEvent
	for len(got) < n {
		ev := sub.Recv()
		if ev.SubscriptionDropped != nil {
			t.Errorf("dropped after %d of %d events: %v", len(got), n, ev.SubscriptionDropped.Error)
			return got
		}
		if ev.EventAppeared != nil {
			got = append(got, ev.EventAppeared)
		}
	}
	return got
}

// TestSubscribersDuringWrites starts subscriptions at random times while many events are written.
// The store keeps few events in memory, so that the subscriptions often switch between disk and
// memory. Each subscription receives every event once, in order.
func TestSubscribersDuringWrites(t *testing.T) {
	soak.NotShort(t)
	t.Parallel()
	const writers, appends, perAppend = 8, 150, 3
	const total = writers * appends * perAppend
	s := servertest.Open(t, func(c *embedded.Config) { c.RecentEvents = 32 })
	c := servertest.Dial(t, s)
	filter := &esdb.SubscriptionFilter{Type: esdb.StreamFilterType, Prefixes: []string{"w"}}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var results [][]*esdb.ResolvedEvent
	subscribe := func() {
		sub, err := c.SubscribeToAll(servertest.Context(t), esdb.SubscribeToAllOptions{From: esdb.Start{}, Filter: filter})
		if err != nil {
			t.Error(err)
			return
		}
		defer sub.Close()
		got := collect(t, sub, total)
		mu.Lock()
		results = append(results, got)
		mu.Unlock()
	}
	one := make(chan []*esdb.ResolvedEvent, 1)
	wg.Go(func() {
		sub, err := c.SubscribeToStream(servertest.Context(t), "w0", esdb.SubscribeToStreamOptions{From: esdb.Start{}})
		if err != nil {
			t.Error(err)
			return
		}
		defer sub.Close()
		one <- collect(t, sub, appends*perAppend)
	})
	for w := range writers {
		rng := rand.New(rand.NewPCG(uint64(w), 7))
		wg.Go(func() {
			for i := range appends {
				if rng.IntN(50) == 0 {
					wg.Go(subscribe)
				}
				list := servertest.Events(fmt.Sprintf("%d/%d/0", w, i), fmt.Sprintf("%d/%d/1", w, i), fmt.Sprintf("%d/%d/2", w, i))
				if _, err := c.AppendToStream(
					servertest.Context(t), fmt.Sprint("w", w), esdb.AppendToStreamOptions{}, list...,
				); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	wg.Go(subscribe)
	wg.Wait()
	want := servertest.ReadAll(t, c, esdb.ReadAllOptions{From: esdb.Start{}})[servertest.NewStoreEvents:]
	for i, got := range results {
		if fmt.Sprint(servertest.Names(got)) != fmt.Sprint(servertest.Names(want)) {
			t.Fatalf("subscription %d received the events differently", i)
		}
	}
	for i, ev := range <-one {
		if ev.Event.EventNumber != uint64(i) {
			t.Fatalf("stream subscription: event %d at index %d", ev.Event.EventNumber, i)
		}
	}
}

func TestSlowSubscriberReceivesEverything(t *testing.T) {
	t.Parallel()
	s := servertest.Open(t, func(c *embedded.Config) { c.RecentEvents = 16 })
	c := servertest.Dial(t, s)
	sub, err := c.SubscribeToAll(servertest.Context(t), esdb.SubscribeToAllOptions{From: esdb.End{}})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	// More events than the connection buffers while the client does not receive.
	const count = 400
	payload := make([]byte, 4096)
	for i := range count {
		ev := servertest.Event(strconv.Itoa(i))
		ev.ContentType, ev.Data = esdb.ContentTypeBinary, payload
		if _, err := c.AppendToStream(servertest.Context(t), "s", esdb.AppendToStreamOptions{}, ev); err != nil {
			t.Fatal(err)
		}
	}
	for i, ev := range collect(t, sub, count) {
		if ev.Event.EventNumber != uint64(i) {
			t.Fatalf("event %d at index %d", ev.Event.EventNumber, i)
		}
	}
}

func TestCheckpoints(t *testing.T) {
	t.Parallel()
	c := servertest.Dial(t, servertest.Open(t))
	for i := range 10 {
		servertest.Append(t, c, fmt.Sprint("other-", i), esdb.NoStream{}, strconv.Itoa(i))
	}
	res := servertest.Append(t, c, "url-1", esdb.NoStream{}, "match")
	options := func(from esdb.AllPosition) esdb.SubscribeToAllOptions {
		return esdb.SubscribeToAllOptions{
			From: from, MaxSearchWindow: 2, CheckpointInterval: 2,
			Filter: &esdb.SubscriptionFilter{Type: esdb.StreamFilterType, Regex: "^url-"},
		}
	}
	sub, err := c.SubscribeToAll(servertest.Context(t), options(esdb.Start{}))
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	checkpoints, matched := []uint64{}, false
	ev := sub.Recv()
	for ; ev.CaughtUp == nil; ev = sub.Recv() {
		switch {
		case ev.CheckPointReached != nil:
			checkpoints = append(checkpoints, ev.CheckPointReached.Commit)
		case ev.EventAppeared != nil:
			matched = true
		default:
			t.Fatalf("got %+v", ev)
		}
	}
	// A checkpoint after every fourth examined event, and one at the end of the log.
	if want := (servertest.NewStoreEvents + 11 + 3) / 4; len(checkpoints) != want || !matched {
		t.Fatalf("%d checkpoints, want %d; matched %v", len(checkpoints), want, matched)
	}
	if last := checkpoints[len(checkpoints)-1]; last != res.CommitPosition {
		t.Fatalf("the last checkpoint is at %d, want the end at %d", last, res.CommitPosition)
	}
	for i, p := range checkpoints {
		again, err := c.SubscribeToAll(servertest.Context(t), options(esdb.Position{Commit: p, Prepare: p}))
		if err != nil {
			t.Fatalf("resume from checkpoint %d: %v", i, err)
		}
		for ev := again.Recv(); i < len(checkpoints)-1 && ev.EventAppeared == nil; ev = again.Recv() {
			if ev.CaughtUp != nil || ev.SubscriptionDropped != nil {
				t.Fatalf("resumed from checkpoint %d: %+v before the match", i, ev)
			}
		}
		again.Close()
	}
	for i := range 4 {
		servertest.Append(t, c, fmt.Sprint("live-", i), esdb.NoStream{}, fmt.Sprint("l", i))
	}
	if ev = sub.Recv(); ev.CheckPointReached == nil {
		t.Fatalf("got %+v, want a live checkpoint", ev)
	}
}

func TestSubscriptionStarts(t *testing.T) {
	t.Parallel()
	c := servertest.Dial(t, servertest.Open(t))
	servertest.Append(t, c, "s", esdb.NoStream{}, "0", "1", "2")
	all := servertest.ReadAll(t, c, esdb.ReadAllOptions{From: esdb.Start{}})
	first := all[len(all)-3].Event.Position
	type opened struct {
		name string
		sub  *esdb.Subscription
		want []string
	}
	var subs []opened
	for _, tc := range []struct {
		name, stream string
		from         esdb.StreamPosition
		want         []string
	}{
		{"start", "s", esdb.Start{}, []string{"0", "1", "2", "", "3", "4"}},
		{"after a revision", "s", esdb.Revision(1), []string{"2", "", "3", "4"}},
		{"end", "s", esdb.End{}, []string{"", "3", "4"}},
		{"in the future", "s", esdb.Revision(3), []string{"", "4"}},
		{"not there yet", "t", esdb.Start{}, []string{"", "3", "4"}},
	} {
		sub, err := c.SubscribeToStream(servertest.Context(t), tc.stream, esdb.SubscribeToStreamOptions{From: tc.from})
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		subs = append(subs, opened{tc.name, sub, tc.want})
	}
	for name, tc := range map[string]struct {
		from esdb.AllPosition
		want []string
	}{
		"$all after a position": {first, []string{"1", "2", ""}},
		"$all from end":         {esdb.End{}, []string{"", "3"}},
	} {
		sub, err := c.SubscribeToAll(servertest.Context(t), esdb.SubscribeToAllOptions{From: tc.from})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		subs = append(subs, opened{name, sub, tc.want})
	}
	for _, o := range subs {
		for i, want := range o.want {
			ev := o.sub.Recv()
			if want == "" && ev.CaughtUp == nil || want != "" && ev.EventAppeared == nil {
				t.Fatalf("%s: message %d is %+v, want %q", o.name, i, ev, want)
			}
			if want == "" {
				break // the others are written after all subscriptions have caught up
			}
			servertest.WantNames(t, []*esdb.ResolvedEvent{ev.EventAppeared}, want)
		}
	}
	servertest.Append(t, c, "s", esdb.Any{}, "3", "4")
	servertest.Append(t, c, "t", esdb.Any{}, "3", "4")
	for _, o := range subs {
		live := false
		for _, want := range o.want {
			if live {
				servertest.WantNames(t, collect(t, o.sub, 1), want)
			}
			live = live || want == ""
		}
		o.sub.Close()
	}
}

// TestIdleConnectionStaysUp leaves a connection and a subscription idle for longer than a server
// with default settings tolerates the client's pings.
func TestIdleConnectionStaysUp(t *testing.T) {
	t.Parallel()
	soak.NotShort(t)
	const idle = 42 * time.Second
	s := servertest.Open(t)
	c := servertest.Dial(t, s)
	sub, err := c.SubscribeToStream(servertest.Context(t), "s", esdb.SubscribeToStreamOptions{From: esdb.End{}})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	if ev := sub.Recv(); ev.CaughtUp == nil {
		t.Fatalf("got %+v, want caught up", ev)
	}
	conn, err := grpc.NewClient(s.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithKeepaliveParams(
			keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 10 * time.Second, PermitWithoutStream: true},
		))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.Connect()
	for state := conn.GetState(); state != connectivity.Ready; state = conn.GetState() {
		if !conn.WaitForStateChange(servertest.Context(t), state) {
			t.Fatal("no connection")
		}
	}
	received := make(chan *esdb.SubscriptionEvent, 1)
	go func() { received <- sub.Recv() }()
	quiet, cancel := context.WithTimeout(context.Background(), idle)
	defer cancel()
	if conn.WaitForStateChange(quiet, connectivity.Ready) {
		t.Fatalf("the idle connection is %v", conn.GetState())
	}
	select {
	case ev := <-received:
		t.Fatalf("the idle subscription got %+v", ev)
	default:
	}
	servertest.Append(t, c, "s", esdb.NoStream{}, "a")
	if ev := <-received; ev.EventAppeared == nil {
		t.Fatalf("got %+v, want the event", ev)
	}
}

func TestSubscribeAllFiltered(t *testing.T) {
	t.Parallel()
	c := servertest.Dial(t, servertest.Open(t))
	servertest.Append(t, c, "url-1", esdb.Any{}, "1")
	servertest.Append(t, c, "other", esdb.Any{}, "x")
	sub, err := c.SubscribeToAll(servertest.Context(t), esdb.SubscribeToAllOptions{
		From: esdb.Start{}, Filter: &esdb.SubscriptionFilter{Type: esdb.StreamFilterType, Prefixes: []string{"url-"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	if ev := sub.Recv(); ev.EventAppeared == nil {
		t.Fatalf("got %+v, want the event", ev)
	}
	if ev := sub.Recv(); ev.CheckPointReached == nil {
		t.Fatalf("got %+v, want a checkpoint", ev)
	}
	if ev := sub.Recv(); ev.CaughtUp == nil {
		t.Fatalf("got %+v, want caught up", ev)
	}
	servertest.Append(t, c, "url-2", esdb.NoStream{}, "2")
	if ev := sub.Recv(); ev.EventAppeared == nil || string(ev.EventAppeared.Event.Data) != `"2"` {
		t.Fatalf("got %+v, want the live event", ev)
	}
}

func TestSubscribeStream(t *testing.T) {
	t.Parallel()
	c := servertest.Dial(t, servertest.Open(t))
	servertest.Append(t, c, "a", esdb.Any{}, "1", "2")
	sub, err := c.SubscribeToStream(servertest.Context(t), "a", esdb.SubscribeToStreamOptions{From: esdb.Revision(0)})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	if ev := sub.Recv(); ev.EventAppeared == nil || ev.EventAppeared.Event.EventNumber != 1 {
		t.Fatalf("got %+v, want event 1", ev)
	}
	if ev := sub.Recv(); ev.CaughtUp == nil {
		t.Fatalf("got %+v, want caught up", ev)
	}
	servertest.Append(t, c, "a", esdb.Any{}, "3")
	if ev := sub.Recv(); ev.EventAppeared == nil || ev.EventAppeared.Event.EventNumber != 2 {
		t.Fatalf("got %+v, want event 2", ev)
	}
}

func TestTombstoneEndsSubscription(t *testing.T) {
	t.Parallel()
	c := servertest.Dial(t, servertest.Open(t))
	servertest.Append(t, c, "s", esdb.NoStream{}, "a")
	sub, err := c.SubscribeToStream(servertest.Context(t), "s", esdb.SubscribeToStreamOptions{From: esdb.End{}})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	if ev := sub.Recv(); ev.CaughtUp == nil {
		t.Fatalf("got %+v, want caught up", ev)
	}
	if _, err := c.TombstoneStream(
		servertest.Context(t), "s", esdb.TombstoneStreamOptions{ExpectedRevision: esdb.Any{}},
	); err != nil {
		t.Fatal(err)
	}
	if ev := sub.Recv(); ev.EventAppeared == nil || ev.EventAppeared.Event.EventType != "$streamDeleted" {
		t.Fatalf("got %+v, want the tombstone", ev)
	}
	if ev := sub.Recv(); ev.SubscriptionDropped == nil ||
		status.Code(ev.SubscriptionDropped.Error) != codes.FailedPrecondition {
		t.Fatalf("got %+v, want the end", ev)
	}
}
