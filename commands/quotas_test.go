package commands

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/commands/batch"
	"linkledger/commands/commandstest"
	"linkledger/commands/domain"
	"linkledger/commands/hashes"
	"linkledger/commands/linkquota"
	"linkledger/commands/linkwrite"
	"linkledger/commands/streams"
	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/internal/soak"
)

// limitedNodes are nodes on one event store that apply limits to accounts.
type limitedNodes struct {
	server *eventstoretest.Server
	store  *eventstore.Store
	nodes  []*Handler
	clock  atomic.Pointer[time.Time]
	stale  atomic.Int64 // number of further answers of the read model that repeat the previous one

	mu    sync.Mutex
	known linkquota.Existing
}

func newLimitedNodes(t *testing.T, n int) *limitedNodes {
	t.Helper()
	l := &limitedNodes{server: eventstoretest.Serve(t)}
	l.store = eventstoretest.Open(t, l.server.URL())
	start := commandstest.At
	l.clock.Store(&start)
	for range n {
		store := eventstoretest.Open(t, l.server.URL())
		now := func() time.Time { return *l.clock.Load() }
		quotas := linkquota.New(linkquota.Config{Store: store, Now: now, Existing: l.existing})
		l.nodes = append(
			l.nodes, NewHandler(Config{Streams: streams.New(streams.Config{Store: store, Now: now}), Quotas: quotas}),
		)
	}
	return l
}

func (l *limitedNodes) pass(d time.Duration) {
	later := l.clock.Load().Add(d)
	l.clock.Store(&later)
}

// existing stands in for the read model of account "a".
func (l *limitedNodes) existing(ctx context.Context, _ string, _ time.Time) (linkquota.Existing, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stale.Add(-1) >= 0 {
		return l.known, nil
	}
	head, err := l.store.Head(ctx)
	if err != nil {
		return linkquota.Existing{}, err
	}
	err = l.store.ReadLog(ctx, eventstore.Position{
		Commit: l.known.Commit, Prepare: l.known.Prepare,
	}, head, func(batch []eventstore.Recorded) error {
		for _, r := range batch {
			if r.IsSystem() {
				continue
			}
			e, err := r.Event()
			if err != nil {
				return err
			}
			switch e := e.(type) {
			case events.URLCreated:
				if e.Account == "a" {
					l.known.Created++
					l.known.Month++
				}
			case events.URLRestored:
				l.known.Created++
			case events.URLDeleted:
				l.known.Deleted++
			}
		}
		return nil
	})
	l.known.Commit, l.known.Prepare = head.Commit, head.Prepare
	return l.known, err
}

func limited(plan domain.Plan) domain.Request {
	r := request("a")
	r.Plan = plan
	return r
}

// batchOf returns a batch of n links to create.
func batchOf(n int) []CreateURL {
	items := make([]CreateURL, n)
	for i := range items {
		items[i].LongURL = "https://example.com/"
	}
	return items
}

func (l *limitedNodes) live(t *testing.T) int64 {
	t.Helper()
	existing, err := l.existing(t.Context(), "", commandstest.At)
	if err != nil {
		t.Fatal(err)
	}
	return existing.Created - existing.Deleted
}

// TestQuotasRace checks that 64 clients on two nodes create exactly as many links as the limit
// allows, in batches, while some items fail and some links are deleted.
func TestQuotasRace(t *testing.T) {
	t.Parallel()
	l := newLimitedNodes(t, 2)
	plan := domain.Plan{URLs: 150}
	l.nodes[0].CreateURLs(
		t.Context(), request("other"), []CreateURL{{LongURL: "https://example.com/", CustomHash: "taken"}},
	)
	var refused atomic.Int64
	commandstest.Together(64, func(client int) {
		node := l.nodes[client%2]
		for range 2 {
			items := batchOf(client%5 + 1)
			items[0].CustomHash = []string{"", "taken"}[client%2]
			var mine []string
			for i, item := range node.CreateURLs(t.Context(), limited(plan), items).Items {
				switch domain.KindOf(item.Err) {
				case domain.URLLimitReached:
					refused.Add(1)
				case domain.HashUnavailable:
					if i > 0 || client%2 == 0 {
						t.Errorf("client %d, item %d: %v", client, i, item.Err)
					}
				default:
					if item.Err != nil {
						t.Errorf("client %d, item %d: %v", client, i, item.Err)
					}
					mine = append(mine, item.URL.Hash)
				}
			}
			if client%3 == 0 && len(mine) > 1 {
				for _, deleted := range node.DeleteURLs(t.Context(), limited(plan), linkwrite.ByHash(mine[:len(mine)/2]...)) {
					if deleted.Err != nil {
						t.Error(deleted.Err)
					}
				}
			}
		}
	})
	t.Logf("%d items were refused", refused.Load())
	left := 150 - l.live(t)
	items := l.nodes[0].CreateURLs(t.Context(), limited(plan), batchOf(int(left)+3)).Items
	for i, item := range items {
		if got := domain.KindOf(item.Err) == domain.URLLimitReached; got != (int64(i) >= left) {
			t.Errorf("item %d of %d with %d left: %v", i, len(items), left, item.Err)
		}
	}
	if got := l.live(t); got != 150 {
		t.Errorf("%d links, want 150", got)
	}
}

// TestQuotasOfAKilledNode checks that the reservation of a killed node is returned once, after a
// minute, and that a link which that node created keeps its reservation.
func TestQuotasOfAKilledNode(t *testing.T) {
	soak.NotShort(t)
	t.Parallel()
	l := newLimitedNodes(t, 2)
	plan := domain.Plan{URLs: 3, MonthURLs: 3}
	create := func() domain.Kind {
		return domain.KindOf(l.nodes[1].CreateURLs(t.Context(), limited(plan), batchOf(1)).Items[0].Err)
	}
	killed := l.nodes[0].cfg.Quotas
	var reservedAt [2]time.Time
	commandstest.Together(2, func(i int) {
		var err error
		reservedAt[i], err = killed.Reserve(limited(plan), batch.NewTurns(1), 0).
			Take(t.Context(), []string{"late", "made"}[i], commandstest.At)
		if err != nil {
			t.Error(err)
		}
	})
	made := commandstest.Created()
	made.URLID, made.Account, made.At = "made", "a", reservedAt[1]
	write := eventstore.Write{
		Stream: events.StreamURL + "made", Expected: eventstore.NoStream, Command: request("").Command,
		Events: []events.Event{made},
	}
	if _, err := l.store.Append(t.Context(), write); err != nil {
		t.Fatal(err)
	}
	if first, second := create(), create(); first != 0 || second != domain.URLLimitReached {
		t.Errorf("with a late link: %v and %v", first, second)
	}
	l.pass(hashes.ClaimTimeout + time.Second)
	commandstest.Together(2, func(int) { create() })
	if first, second := create(), l.live(t); first != domain.URLLimitReached || second != 3 {
		t.Errorf("%d links, and one more returned %v", second, first)
	}
	write.Stream, write.Command = events.StreamURL+"late", request("").Command
	if _, err := l.store.Append(t.Context(), write); !errors.Is(err, eventstore.ErrWrongRevision) {
		t.Errorf("the late link was created: %v", err)
	}
}

// TestQuotasWaitForTheReadModel checks that the quota waits for the read model before it refuses a
// link, because the read model may lack a deletion.
func TestQuotasWaitForTheReadModel(t *testing.T) {
	soak.NotShort(t)
	t.Parallel()
	l := newLimitedNodes(t, 1)
	plan := domain.Plan{URLs: 1}
	node := l.nodes[0]
	old := node.CreateURLs(t.Context(), limited(plan), batchOf(1)).Items[0].URL
	l.live(t)
	l.stale.Store(math.MaxInt64)
	if deleted := node.DeleteURLs(t.Context(), limited(plan), linkwrite.ByHash(old.Hash))[0]; deleted.Err != nil {
		t.Fatal(deleted.Err)
	}
	if got := domain.KindOf(
		node.CreateURLs(t.Context(), limited(plan), batchOf(1)).Items[0].Err,
	); got != domain.URLLimitReached {
		t.Errorf("with a read model that stands still: %v", got)
	}
	l.stale.Store(5)
	if got := domain.KindOf(node.CreateURLs(t.Context(), limited(plan), batchOf(1)).Items[0].Err); got != 0 {
		t.Errorf("with a read model that catches up: %v", got)
	}
}

// TestReservationsInTheOrderOfABatch checks that the first items of a batch get the reservations,
// even if they take longer to request them.
func TestReservationsInTheOrderOfABatch(t *testing.T) {
	t.Parallel()
	l := newLimitedNodes(t, 1)
	items := batchOf(8)
	for i := range 4 {
		items[i].Unique, items[i].LongURL = true, fmt.Sprintf("https://example.com/%d", i)
	}
	for i, item := range l.nodes[0].CreateURLs(t.Context(), limited(domain.Plan{URLs: 4}), items).Items {
		if got := domain.KindOf(item.Err); (got == 0) != (i < 4) {
			t.Errorf("item %d: %v", i, item.Err)
		}
	}
}

// TestReservationReleasedByAnotherNode checks that a node can use the reservation that another node
// has released.
func TestReservationReleasedByAnotherNode(t *testing.T) {
	t.Parallel()
	l := newLimitedNodes(t, 2)
	plan := domain.Plan{URLs: 2}
	var reservations [2]*linkquota.Reservation
	for i, node := range l.nodes {
		reservations[i] = node.cfg.Quotas.Reserve(limited(plan), batch.NewTurns(1), 0)
		if _, err := reservations[i].Take(t.Context(), fmt.Sprint("u", i), commandstest.At); err != nil {
			t.Fatal(err)
		}
	}
	reservations[0].Release()
	if item := l.nodes[1].CreateURLs(t.Context(), limited(plan), batchOf(1)).Items[0]; item.Err != nil {
		t.Error(item.Err)
	}
}

// TestRepeatsTakeOneReservation checks that concurrent repeats of one command create one link with
// one reservation.
func TestRepeatsTakeOneReservation(t *testing.T) {
	t.Parallel()
	l := newLimitedNodes(t, 2)
	plan := domain.Plan{URLs: 4}
	for round := range 4 {
		r := limited(plan)
		r.Repeated = true
		links := batchOf(1)
		if round%2 == 1 {
			links[0].CustomHash = fmt.Sprint("custom", round)
		}
		hashes := make([]string, 6)
		commandstest.Together(len(hashes), func(i int) {
			item := l.nodes[i%2].CreateURLs(t.Context(), r, links).Items[0]
			if item.Err != nil {
				t.Errorf("round %d: %v", round, item.Err)
			}
			hashes[i] = item.URL.Hash
		})
		if slices.Sort(hashes); hashes[0] != hashes[len(hashes)-1] {
			t.Errorf("one command made %v", hashes)
		}
	}
	if got := domain.KindOf(
		l.nodes[0].CreateURLs(t.Context(), limited(plan), batchOf(1)).Items[0].Err,
	); got != domain.URLLimitReached || l.live(t) != 4 {
		t.Errorf("%d links, and one more returned %v", l.live(t), got)
	}
}

// TestReservationsOfCancelledCalls checks that the reservation of a client that stops waiting
// becomes available to the next link.
func TestReservationsOfCancelledCalls(t *testing.T) {
	t.Parallel()
	l := newLimitedNodes(t, 1)
	quotas, plan := l.nodes[0].cfg.Quotas, domain.Plan{URLs: 1}
	left, leave := context.WithCancel(t.Context())
	leave()
	for i := range 20 {
		reservation := quotas.Reserve(limited(plan), batch.NewTurns(1), 0)
		if _, err := reservation.Take(left, fmt.Sprint("left", i), commandstest.At); err == nil { // granted first
			reservation.Release()
		}
	}
	if item := l.nodes[0].CreateURLs(t.Context(), limited(plan), batchOf(1)).Items[0]; item.Err != nil {
		t.Error(item.Err)
	}
}

// TestManyLinksAtATime reserves more links than one event can name, so that they need several
// appends.
func TestManyLinksAtATime(t *testing.T) {
	t.Parallel()
	l := newLimitedNodes(t, 1)
	quotas := l.nodes[0].cfg.Quotas
	commandstest.Together(2*linkquota.MaxPending, func(int) {
		reservation := quotas.Reserve(limited(domain.Plan{URLs: 3 * linkquota.MaxPending}), batch.NewTurns(1), 0)
		_, err := reservation.Take(t.Context(), uuid.NewString(), commandstest.At)
		if err != nil {
			t.Error(err)
		}
		reservation.Finish(err)
	})
}

// TestQuotasWithoutTheEventStore checks that an unavailable event store is not reported as a
// reached limit.
func TestQuotasWithoutTheEventStore(t *testing.T) {
	soak.NotShort(t)
	t.Parallel()
	l := newLimitedNodes(t, 1)
	plan := domain.Plan{URLs: 2}
	r := limited(plan)
	l.nodes[0].CreateURLs(t.Context(), r, batchOf(1))
	l.live(t)
	l.stale.Store(math.MaxInt64)
	l.server.Stop()
	reservation := l.nodes[0].cfg.Quotas.Reserve(r, batch.NewTurns(1), 0)
	if _, err := reservation.Take(t.Context(), "u", commandstest.At); !errors.Is(err, ErrUnavailable) {
		t.Errorf("without the event store: %v", err)
	}
	l.server.Start()
	l.stale.Store(0)
	l.pass(hashes.ClaimTimeout + time.Second) // the failed append may have reached the log
	if item := l.nodes[0].CreateURLs(t.Context(), r, batchOf(1)).Items[0]; item.Err != nil {
		t.Error(item.Err)
	}
}
