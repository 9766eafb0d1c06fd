package embedded

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
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

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
	s := open(t, func(c *Config) { c.recentEvents = 32 })
	c := dial(t, s)
	filter := &esdb.SubscriptionFilter{Type: esdb.StreamFilterType, Prefixes: []string{"w"}}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var results [][]*esdb.ResolvedEvent
	subscribe := func() {
		sub, err := c.SubscribeToAll(testContext(t), esdb.SubscribeToAllOptions{From: esdb.Start{}, Filter: filter})
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
		sub, err := c.SubscribeToStream(testContext(t), "w0", esdb.SubscribeToStreamOptions{From: esdb.Start{}})
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
				list := events(fmt.Sprintf("%d/%d/0", w, i), fmt.Sprintf("%d/%d/1", w, i), fmt.Sprintf("%d/%d/2", w, i))
				if _, err := c.AppendToStream(
					testContext(t), fmt.Sprint("w", w), esdb.AppendToStreamOptions{}, list...,
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
	want := readAll(t, c, esdb.ReadAllOptions{From: esdb.Start{}})[newStoreEvents:]
	for i, got := range results {
		if fmt.Sprint(names(got)) != fmt.Sprint(names(want)) {
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
	s := open(t, func(c *Config) { c.recentEvents = 16 })
	c := dial(t, s)
	sub, err := c.SubscribeToAll(testContext(t), esdb.SubscribeToAllOptions{From: esdb.End{}})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	// More events than the connection buffers while the client does not receive.
	const count = 400
	payload := make([]byte, 4096)
	for i := range count {
		ev := event(strconv.Itoa(i))
		ev.ContentType, ev.Data = esdb.ContentTypeBinary, payload
		if _, err := c.AppendToStream(testContext(t), "s", esdb.AppendToStreamOptions{}, ev); err != nil {
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
	c := dial(t, open(t))
	for i := range 10 {
		appendTo(t, c, fmt.Sprint("other-", i), esdb.NoStream{}, strconv.Itoa(i))
	}
	res := appendTo(t, c, "url-1", esdb.NoStream{}, "match")
	options := func(from esdb.AllPosition) esdb.SubscribeToAllOptions {
		return esdb.SubscribeToAllOptions{
			From: from, MaxSearchWindow: 2, CheckpointInterval: 2,
			Filter: &esdb.SubscriptionFilter{Type: esdb.StreamFilterType, Regex: "^url-"},
		}
	}
	sub, err := c.SubscribeToAll(testContext(t), options(esdb.Start{}))
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
	if want := (newStoreEvents + 11 + 3) / 4; len(checkpoints) != want || !matched {
		t.Fatalf("%d checkpoints, want %d; matched %v", len(checkpoints), want, matched)
	}
	if last := checkpoints[len(checkpoints)-1]; last != res.CommitPosition {
		t.Fatalf("the last checkpoint is at %d, want the end at %d", last, res.CommitPosition)
	}
	for i, p := range checkpoints {
		again, err := c.SubscribeToAll(testContext(t), options(esdb.Position{Commit: p, Prepare: p}))
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
		appendTo(t, c, fmt.Sprint("live-", i), esdb.NoStream{}, fmt.Sprint("l", i))
	}
	if ev = sub.Recv(); ev.CheckPointReached == nil {
		t.Fatalf("got %+v, want a live checkpoint", ev)
	}
}

func TestSubscriptionStarts(t *testing.T) {
	t.Parallel()
	c := dial(t, open(t))
	appendTo(t, c, "s", esdb.NoStream{}, "0", "1", "2")
	all := readAll(t, c, esdb.ReadAllOptions{From: esdb.Start{}})
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
		sub, err := c.SubscribeToStream(testContext(t), tc.stream, esdb.SubscribeToStreamOptions{From: tc.from})
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
		sub, err := c.SubscribeToAll(testContext(t), esdb.SubscribeToAllOptions{From: tc.from})
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
			wantNames(t, []*esdb.ResolvedEvent{ev.EventAppeared}, want)
		}
	}
	appendTo(t, c, "s", esdb.Any{}, "3", "4")
	appendTo(t, c, "t", esdb.Any{}, "3", "4")
	for _, o := range subs {
		live := false
		for _, want := range o.want {
			if live {
				wantNames(t, collect(t, o.sub, 1), want)
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
	s := open(t)
	c := dial(t, s)
	sub, err := c.SubscribeToStream(testContext(t), "s", esdb.SubscribeToStreamOptions{From: esdb.End{}})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	if ev := sub.Recv(); ev.CaughtUp == nil {
		t.Fatalf("got %+v, want caught up", ev)
	}
	conn, err := grpc.NewClient(s.addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithKeepaliveParams(
			keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 10 * time.Second, PermitWithoutStream: true},
		))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.Connect()
	for state := conn.GetState(); state != connectivity.Ready; state = conn.GetState() {
		if !conn.WaitForStateChange(testContext(t), state) {
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
	appendTo(t, c, "s", esdb.NoStream{}, "a")
	if ev := <-received; ev.EventAppeared == nil {
		t.Fatalf("got %+v, want the event", ev)
	}
}
