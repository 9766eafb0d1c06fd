package eventstore_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/internal/soak"
	"linkledger/waiting"
)

// network is a proxy of a server that can cut connections or drop their data.
type network struct {
	listener net.Listener
	server   string
	all      sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]struct{} // open connections
}

func newNetwork(t *testing.T, server string) *network {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &network{listener: listener, server: server, conns: make(map[net.Conn]struct{})}
	n.all.Go(n.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		n.cut()
		n.all.Wait()
	})
	return n
}

func (n *network) url() string { return "esdb://" + n.listener.Addr().String() + "?tls=false" }

func (n *network) accept() {
	for {
		client, err := n.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", n.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		n.mu.Lock()
		n.conns[client], n.conns[server] = struct{}{}, struct{}{}
		n.mu.Unlock()
		n.all.Go(func() { n.carry(client, server) })
		n.all.Go(func() { n.carry(server, client) })
	}
}

// carry copies data until either side ends. While the network drops data, it discards what it
// reads.
func (n *network) carry(to, from net.Conn) {
	defer func() { _, _ = to.Close(), from.Close() }()
	buffer := make([]byte, 16<<10)
	for {
		size, err := from.Read(buffer)
		if err != nil {
			return
		}
		n.mu.Lock()
		_, alive := n.conns[to]
		n.mu.Unlock()
		if !alive {
			continue // a black hole: the connection is open, and nothing arrives
		}
		if _, err := to.Write(buffer[:size]); err != nil {
			return
		}
	}
}

// cut ends all connections.
func (n *network) cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for conn := range n.conns {
		_ = conn.Close()
	}
	clear(n.conns)
}

// blackHole keeps the existing connections open and drops their data. New connections work.
func (n *network) blackHole() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.conns)
}

func openThrough(t *testing.T, n *network) *eventstore.Store {
	t.Helper()
	store, err := eventstore.Open(eventstore.Config{URL: n.url(), AttemptTimeout: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	return store
}

// TestFaultsOfTheNetwork checks that every command is applied exactly once, and that the reader
// receives each event in order, despite faults of the connections.
func TestFaultsOfTheNetwork(t *testing.T) {
	t.Parallel()
	faults := map[string]func(*network){"cut": (*network).cut, "black hole": (*network).blackHole}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "black hole" {
				soak.NotShort(t)
			}
			n := newNetwork(t, eventstoretest.Serve(t).Address())
			store := openThrough(t, n)
			var r eventstoretest.Reader
			messages := r.Subscribe(t, store, 100)
			const rounds, each = 5, 40
			for round := range rounds {
				for i := range each {
					number := round*each + i
					if i == each/2 {
						fault(n)
					}
					w := eventstoretest.TagWrite(
						fmt.Sprintf("tags-%d", number), eventstore.NoStream, uuid.New(), strconv.Itoa(number),
					)
					if _, err := store.Append(t.Context(), w); err != nil {
						t.Fatal(err)
					}
					if loaded, err := store.Load(t.Context(), w.Stream); err != nil || len(loaded) != 1 {
						t.Fatalf("loaded %d events, %v", len(loaded), err)
					}
				}
				if name == "cut" { // only keepalive detects a silent subscription, after 20 s
					r.Until(t, messages, (round+1)*each)
				}
			}
			n.cut()
			r.Until(t, messages, rounds*each)
		})
	}
}

// TestReadsWithLittleTime checks that a dead connection is replaced even if the deadlines of all
// callers are shorter than the timeout of an attempt.
func TestReadsWithLittleTime(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, eventstoretest.Serve(t).Address())
	store, err := eventstore.Open(eventstore.Config{URL: n.url(), AttemptTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	if _, err := store.Head(t.Context()); err != nil {
		t.Fatal(err)
	}
	n.blackHole()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := store.Head(ctx); !errors.Is(err, eventstore.ErrUnavailable) {
		t.Fatalf("over a dead connection: %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if _, err := store.Head(ctx); err != nil {
		t.Fatalf("after an unanswered read: %v", err)
	}
}

// TestOutagesLeaveNoGoroutines provokes outages. TestMain detects goroutines that they leave
// behind, at the end of all tests.
func TestOutagesLeaveNoGoroutines(t *testing.T) {
	soak.NotShort(t)
	t.Parallel()
	server := eventstoretest.Serve(t)
	n := newNetwork(t, server.Address())
	store := openThrough(t, n)
	use := func(ctx context.Context) {
		var all sync.WaitGroup
		for range 32 {
			all.Go(func() {
				_, err := store.Append(
					ctx, eventstoretest.TagWrite("tags-"+uuid.NewString(), eventstore.NoStream, uuid.New(), "x"),
				)
				if err != nil && !errors.Is(err, eventstore.ErrUnavailable) {
					t.Error(err)
				}
				if _, err := store.Load(ctx, "tags-none"); err != nil && !errors.Is(err, eventstore.ErrUnavailable) {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	for range 5 {
		use(t.Context())
		server.Stop()
		n.cut()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		use(ctx)
		cancel()
		server.Start()
	}
	use(t.Context())
}

// TestSilentStoreIsLost drops what goes to and from an event store. Calls that wait are ended, further ones are refused
// at once, and all work again when the network does.
func TestSilentStoreIsLost(t *testing.T) {
	soak.NotShort(t)
	t.Parallel()
	network := eventstoretest.Silenced(t, "tcp", eventstoretest.Serve(t).Address())
	store, err := eventstore.Open(eventstore.Config{
		URL: "esdb://" + network.Addr().String() + "?tls=false", AttemptTimeout: 2 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		store.Watch(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
		store.Close()
	})
	add := func() error {
		_, err := store.Append(ctx, eventstoretest.TagWrite(
			"tags-"+uuid.NewString(), eventstore.NoStream, uuid.New(), "x",
		))
		return err
	}
	read := func() error {
		_, err := store.Head(ctx)
		return err
	}
	if err := errors.Join(add(), read()); err != nil {
		t.Fatal(err)
	}
	network.Begin()
	waiters := make(chan error, 2)
	go func() { waiters <- add() }()
	go func() { waiters <- read() }()
	var lost *waiting.LostError
	for range 2 {
		if err := <-waiters; !errors.As(err, &lost) || !errors.Is(err, eventstore.ErrUnavailable) {
			t.Fatalf("a call that waited: %v", err)
		}
	}
	for range 100 { // each would wait for seconds
		if err := add(); !errors.As(err, &lost) {
			t.Fatalf("a later append: %v", err)
		}
		if err := read(); !errors.As(err, &lost) {
			t.Fatalf("a later read: %v", err)
		}
	}
	network.End()
	for late := time.After(time.Minute); add() != nil || read() != nil; {
		select {
		case <-late:
			t.Fatalf("the event store answers: %v", add())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func TestReadLogAcrossOutages(t *testing.T) {
	t.Parallel()
	server := eventstoretest.Serve(t)
	positions := eventstoretest.Fill(t, eventstoretest.Open(t, server.URL()), 2500)
	network := newNetwork(t, server.Address())
	store := eventstoretest.Open(t, network.url())
	var all []eventstore.Recorded
	err := store.ReadLog(t.Context(), eventstore.Position{}, positions[2499], func(batch []eventstore.Recorded) error {
		all = append(all, batch...)
		network.cut()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	eventstoretest.WantCounted(t, all, 0, 2499)
}
