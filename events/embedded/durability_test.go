package embedded_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"linkledger/events/embedded"
	"linkledger/events/embedded/disk"
	"linkledger/events/embedded/embeddedtest"
	"linkledger/events/embedded/ledger"
	"linkledger/events/embedded/revision"
	"linkledger/events/embedded/servertest"
	"linkledger/internal/soak"
)

// TestCrashKeepsWhatWasSeen simulates a crash of the machine at random times while many events are
// written. All events that were acknowledged or delivered before the crash are in the store
// afterwards.
func TestCrashKeepsWhatWasSeen(t *testing.T) {
	soak.NotShort(t)
	t.Parallel()
	const writers, crashes, unsynced = 8, 20, 50
	fsys := vfs.NewCrashableMem()
	s := servertest.Open(t, func(c *embedded.Config) { c.FS = fsys })
	c := servertest.Dial(t, s)
	var mu sync.Mutex
	seen := map[string]bool{} // acknowledged or delivered
	note := func(name string) { mu.Lock(); seen[name] = true; mu.Unlock() }

	sub, err := c.SubscribeToAll(servertest.Context(t), esdb.SubscribeToAllOptions{
		From: esdb.Start{}, Filter: &esdb.SubscriptionFilter{Type: esdb.StreamFilterType, Prefixes: []string{"w"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for ev := sub.Recv(); ev.SubscriptionDropped == nil; ev = sub.Recv() {
			if ev.EventAppeared != nil {
				note(string(ev.EventAppeared.Event.Data))
			}
		}
	})
	stop := make(chan struct{})
	var acknowledged atomic.Int64
	progress := make(chan struct{}, 1)
	var writing sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				name := fmt.Sprintf("%d/%d", w, i)
				if _, err := c.AppendToStream(
					servertest.Context(t), fmt.Sprint("w", w), esdb.AppendToStreamOptions{}, servertest.Event(name),
				); err != nil {
					t.Error(err)
					return
				}
				note(fmt.Sprintf("%q", name))
				acknowledged.Add(1)
				select {
				case progress <- struct{}{}:
				default:
				}
			}
		})
	}
	defer func() { // even if a check fails, because the client must not be closed while in use
		close(stop)
		writing.Wait()
		sub.Close()
		wg.Wait()
	}()
	rng := rand.New(rand.NewPCG(1, 42))
	for range crashes {
		for target := acknowledged.Load() + rng.Int64N(100); acknowledged.Load() < target; {
			<-progress
		}
		mu.Lock()
		before := maps.Clone(seen)
		mu.Unlock()
		checkCrashed(t, fsys.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(unsynced), RNG: rng}), before)
	}
}

func checkCrashed(t *testing.T, fsys *vfs.MemFS, before map[string]bool) {
	t.Helper()
	s, err := embedded.Open(embedded.Config{Dir: "store", FS: fsys})
	if err != nil {
		t.Fatalf("open after the crash: %v", err)
	}
	defer s.Close()
	left := maps.Clone(before)
	next := map[string]int64{}
	for low := uint64(0); ; {
		page, err := s.Log().Page(low, s.Log().Head(), false)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, rec := range page {
			delete(left, string(rec.Data))
			if rec.Number != next[rec.Stream] {
				t.Fatalf("stream %s continues with %d, want %d", rec.Stream, rec.Number, next[rec.Stream])
			}
			next[rec.Stream]++
			low = rec.Position + 1
		}
	}
	if len(left) > 0 {
		t.Fatalf("%d of %d events seen before the crash are missing", len(left), len(before))
	}
	if out := embeddedtest.Append(s.Writer(), "w0", next["w0"]-1, "after"); out.Err != nil {
		t.Fatalf("append after the crash: %v", out.Err)
	}
}

// logSync reports whether op makes the write-ahead log durable.
func logSync(op errorfs.Op) bool {
	sync := op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSyncTo
	return sync && strings.HasSuffix(op.Path, ".log")
}

// TestNothingShowsBeforeSync delays a sync while Pebble already returns the event. No reader may
// see the event until it is durable.
func TestNothingShowsBeforeSync(t *testing.T) {
	t.Parallel()
	var armed atomic.Bool
	syncing, release := make(chan struct{}), make(chan struct{})
	fsys := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if logSync(op) && armed.CompareAndSwap(true, false) {
			close(syncing)
			<-release
		}
		return nil
	}))
	s := servertest.Open(t, func(c *embedded.Config) { c.FS = fsys })
	free := sync.OnceFunc(func() { close(release) })
	t.Cleanup(free) // before the store closes, because Close waits for the sync
	c := servertest.Dial(t, s)
	sub, err := c.SubscribeToAll(servertest.Context(t), esdb.SubscribeToAllOptions{From: esdb.End{}})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	if ev := sub.Recv(); ev.CaughtUp == nil {
		t.Fatalf("got %+v, want caught up", ev)
	}
	before := s.Stat()
	armed.Store(true)
	answered := make(chan ledger.Outcome, 1)
	go func() { answered <- embeddedtest.Append(s.Writer(), "s", revision.NoStream, "a") }()
	<-syncing
	// The same append in the next group is decided by the state that Pebble returns.
	applied := make(chan ledger.Outcome, 1)
	go s.Writer().Submit(t.Context(), 0, func(l *ledger.Ledger) ledger.Outcome {
		out := l.Append("s", revision.NoStream, embeddedtest.Proposals("a"))
		applied <- out
		return out
	})
	select {
	case out := <-applied:
		if out.Err != nil || out.Last != 0 {
			t.Fatalf("the event is not applied, so the test proves nothing: %+v", out)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the event is not applied, so the test proves nothing")
	}
	if got := servertest.ReadAll(t, c, esdb.ReadAllOptions{From: esdb.Start{}}); len(got) != int(before.Events) ||
		s.Stat().Head != before.Head {
		t.Fatalf("$all shows %d events, head %d", len(got), s.Stat().Head)
	}
	received := make(chan *esdb.SubscriptionEvent, 1)
	go func() { received <- sub.Recv() }()
	read := make(chan error, 1)
	go func() {
		got, err := servertest.Drain(c.ReadStream(servertest.Context(t), "s", esdb.ReadStreamOptions{From: esdb.Start{}}, servertest.All))
		if err == nil && len(got) != 1 {
			err = fmt.Errorf("%d events", len(got))
		}
		read <- err
	}()
	select {
	case out := <-answered:
		t.Fatalf("acknowledged before the sync: %+v", out)
	case ev := <-received:
		t.Fatalf("delivered before the sync: %+v", ev)
	case err := <-read:
		t.Fatalf("read before the sync: %v", err)
	default:
	}
	free()
	if out := <-answered; out.Err != nil {
		t.Fatal(out.Err)
	}
	if ev := <-received; ev.EventAppeared == nil {
		t.Fatalf("got %+v, want the event", ev)
	}
	if err := <-read; err != nil {
		t.Fatalf("read after the sync: %v", err)
	}
}

func TestFailedSyncStopsWriting(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk is broken")
	toggle := &atomic.Bool{}
	fsys := vfs.NewMem()
	faulty := errorfs.Wrap(fsys, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if toggle.Load() && logSync(op) {
			return broken
		}
		return nil
	}))
	store, err := embedded.Open(embedded.Config{Dir: "store", FS: faulty})
	if err != nil {
		t.Fatal(err)
	}
	s := servertest.ServeFailing(t, store)
	// The official client leaks its connection when a write is Unavailable.
	c, raw := servertest.Dial(t, s), servertest.DialRaw(t, s)
	servertest.Append(t, c, "s", esdb.NoStream{}, "a")
	servertest.SetMetadata(t, c, "s", `{"$maxCount":5}`)
	head := s.Stat().Head
	toggle.Store(true)
	for _, stream := range []string{"s", "$$s", "t"} {
		if _, err := servertest.RawAppend(
			t, raw, servertest.OptionsReq(stream), servertest.EventReq(servertest.Proposed("b")),
		); status.Code(err) != codes.FailedPrecondition {
			t.Fatalf("append to %s: %v, want FailedPrecondition", stream, err)
		}
		toggle.Store(false) // the store refuses writes even after the disk works again
	}
	if st := s.Stat(); !errors.Is(st.Failure, disk.ErrFailed) || st.Head != head {
		t.Fatalf("stat %+v, want the failure and head %d", st, head)
	}
	got, err := servertest.ReadStream(t, c, "s", esdb.ReadStreamOptions{From: esdb.Start{}})
	if err != nil {
		t.Fatalf("read acknowledged events: %v", err)
	}
	servertest.WantNames(t, got, "a")
	_ = store.Close() // Close returns the failure again
	again, err := embedded.Open(embedded.Config{Dir: "store", FS: fsys})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	page, err := again.Log().StreamPage("s", 0, 0, false, 1)
	if err != nil || len(page) != 1 || string(page[0].Data) != `"a"` {
		t.Fatalf("%+v, %v after opening again", page, err)
	}
	if out := embeddedtest.Append(again.Writer(), "s", revision.StreamExists, "z"); out.Err != nil {
		t.Fatalf("append after opening again: %v", out.Err)
	}
}
