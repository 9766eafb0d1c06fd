package groupcommit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"go.uber.org/goleak"

	"linkledger/events/embedded/disk"
	"linkledger/events/embedded/embeddedtest"
	"linkledger/events/embedded/groupcommit"
	"linkledger/events/embedded/ledger"
	"linkledger/events/embedded/record"
	"linkledger/events/embedded/revision"
	"linkledger/events/embedded/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start starts a writer on a disk until the test ends. The channel gets the events of each call of
// its publish function.
func start(t *testing.T, fsys vfs.FS) (*groupcommit.Writer, chan []*record.Event) {
	t.Helper()
	log, published := embeddedtest.NewLog(t, fsys), make(chan []*record.Event, 100)
	w := groupcommit.New(log.DB, log.Ledger, false, func(of []*record.Event, c record.Counters) {
		if c.Events <= uint64(len(of)) {
			t.Errorf("%d events are published with %+v", len(of), c)
		}
		published <- of
	})
	w.Start()
	t.Cleanup(w.Stop)
	return w, published
}

// hold makes the writer wait until release is called.
func hold(w *groupcommit.Writer) (release func()) {
	holds, held := make(chan struct{}), make(chan struct{})
	go w.Submit(context.Background(), 0, func(*ledger.Ledger) ledger.Outcome {
		close(held)
		<-holds
		return ledger.Outcome{}
	})
	<-held
	return func() { close(holds) }
}

func appends(stream string) func(*ledger.Ledger) ledger.Outcome {
	return func(l *ledger.Ledger) ledger.Outcome {
		return l.Append(stream, revision.NoStream, embeddedtest.Proposals("a"))
	}
}

// enqueue adds an append to each stream to the queue.
func enqueue(t *testing.T, w *groupcommit.Writer, size int, to ...string) (writes []*groupcommit.Write) {
	t.Helper()
	for _, stream := range to {
		write, err := w.Enqueue(t.Context(), size, appends(stream))
		if err != nil {
			t.Fatal(err)
		}
		writes = append(writes, write)
	}
	return writes
}

// TestGroups checks that the writes that wait are one group, up to its limit of bytes.
func TestGroups(t *testing.T) {
	t.Parallel()
	w, published := start(t, vfs.NewMem())
	for name, tc := range map[string]struct {
		size   int
		groups []int
	}{"small": {1, []int{3}}, "large": {2 << 20, []int{2, 1}}} {
		release := hold(w)
		writes := enqueue(t, w, tc.size, name+"1", name+"2", name+"3")
		release()
		for _, write := range writes {
			if out := w.Wait(t.Context(), write); out.Err != nil {
				t.Fatal(out.Err)
			}
		}
		for _, want := range tc.groups {
			if got := len(<-published); got != want {
				t.Errorf("%s: a group of %d events, want %d", name, got, want)
			}
		}
	}
}

// logSync reports whether op makes the write-ahead log durable.
func logSync(op errorfs.Op) bool {
	sync := op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSyncTo
	return sync && strings.HasSuffix(op.Path, ".log")
}

// TestDurableFirst holds a sync. Until it ends, the write is not answered and its events are not published.
func TestDurableFirst(t *testing.T) {
	t.Parallel()
	var armed atomic.Bool
	syncing, release := make(chan struct{}), make(chan struct{})
	w, published := start(t, errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if logSync(op) && armed.CompareAndSwap(true, false) {
			close(syncing)
			<-release
		}
		return nil
	})))
	armed.Store(true)
	answered := make(chan ledger.Outcome, 1)
	go func() { answered <- w.Submit(context.Background(), 0, appends("s")) }()
	<-syncing
	// The next group is decided after the first one is applied, and not before its sync ends.
	decided := make(chan struct{})
	go w.Submit(context.Background(), 0, func(*ledger.Ledger) ledger.Outcome {
		close(decided)
		return ledger.Outcome{}
	})
	<-decided
	select {
	case out := <-answered:
		t.Errorf("answered before the sync: %+v", out)
	case <-published:
		t.Error("published before the sync")
	default:
	}
	close(release)
	if out := <-answered; out.Err != nil || len(<-published) != 1 {
		t.Error(out.Err)
	}
}

// TestFailedSync checks that nothing is published or accepted after a sync that failed.
func TestFailedSync(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	w, published := start(t, errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if logSync(op) && broken.Load() {
			return errors.New("broken")
		}
		return nil
	})))
	if err := w.Refusal(); err != nil {
		t.Fatal(err)
	}
	broken.Store(true)
	for _, stream := range []string{"s", "t"} {
		if out := w.Submit(t.Context(), 0, appends(stream)); !errors.Is(out.Err, disk.ErrFailed) {
			t.Errorf("append to %s: %+v", stream, out)
		}
		broken.Store(false)
	}
	if err := w.Refusal(); !errors.Is(err, disk.ErrFailed) {
		t.Errorf("the writer accepts writes: %v", err)
	}
	if len(published) > 0 {
		t.Errorf("published: %+v", <-published)
	}
}

// TestCancelledCalls checks that a call that has ended is not decided, and that one that ends later is.
func TestCancelledCalls(t *testing.T) {
	t.Parallel()
	w, published := start(t, vfs.NewMem())
	ended, end := context.WithCancel(t.Context())
	release := hold(w)
	dropped, err := w.Enqueue(ended, 0, appends("dropped"))
	if err != nil {
		t.Fatal(err)
	}
	kept := enqueue(t, w, 0, "kept")[0]
	end()
	if out := w.Wait(ended, kept); !errors.Is(out.Err, context.Canceled) {
		t.Errorf("a wait without time: %+v", out)
	}
	release()
	if out := w.Wait(context.Background(), dropped); !errors.Is(out.Err, context.Canceled) {
		t.Errorf("a call that has ended: %+v", out)
	}
	if group := <-published; len(group) != 1 || group[0].Stream != "kept" {
		t.Errorf("written: %+v", group)
	}
}

func TestStop(t *testing.T) {
	t.Parallel()
	log := embeddedtest.NewLog(t, vfs.NewMem())
	w := groupcommit.New(log.DB, log.Ledger, false, func([]*record.Event, record.Counters) {})
	early := enqueue(t, w, 0, "early")[0]
	if err := w.Run(appends("first")); err != nil {
		t.Fatal(err)
	}
	if err := w.Run(func(*ledger.Ledger) ledger.Outcome { return ledger.Outcome{Err: disk.ErrFull} }); err == nil {
		t.Error("a write that is refused has no error")
	}
	w.Start()
	if out := w.Wait(t.Context(), early); out.Err != nil {
		t.Errorf("queued before the start: %v", out.Err)
	}
	w.Stop()
	if _, err := w.Enqueue(t.Context(), 0, appends("s")); !errors.Is(err, groupcommit.ErrClosed) {
		t.Errorf("enqueue: %v", err)
	}
	if out := w.Submit(t.Context(), 0, appends("s")); !errors.Is(out.Err, groupcommit.ErrClosed) {
		t.Errorf("submit: %+v", out)
	}
}

// TestNextLogFails lets the disk fail when Pebble goes on to its next write-ahead log. The store refuses writes and the
// process lives. What was acknowledged is there when the store is opened again.
func TestNextLogFails(t *testing.T) {
	t.Parallel()
	isLog := func(op errorfs.Op) bool { return strings.HasSuffix(op.Path, ".log") }
	for name, fails := range map[string]func(op errorfs.Op, created bool) bool{
		"no new file": func(op errorfs.Op, _ bool) bool {
			return isLog(op) && (op.Kind == errorfs.OpCreate || op.Kind == errorfs.OpReuseForWrite)
		},
		"folder is not synced": func(op errorfs.Op, created bool) bool {
			return created && op.Kind == errorfs.OpFileSync && op.Path == "store"
		},
		"nothing is written": func(op errorfs.Op, created bool) bool {
			return created && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpMkdirAll
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var armed, created atomic.Bool
			fsys := vfs.NewMem()
			store, err := storage.Open(storage.Config{Dir: "store", FS: errorfs.Wrap(fsys, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if !armed.Load() {
					return nil
				}
				if isLog(op) && (op.Kind == errorfs.OpCreate || op.Kind == errorfs.OpReuseForWrite) {
					defer created.Store(true)
				}
				if fails(op, created.Load()) {
					return errors.New("the disk is broken")
				}
				return nil
			}))})
			if err != nil {
				t.Fatal(err)
			}
			large, acknowledged := strings.Repeat("x", 700<<10), 0
			for ; acknowledged < 100; acknowledged++ {
				armed.Store(acknowledged > 10)
				stream := fmt.Sprint("s", acknowledged)
				out := embeddedtest.Append(store.Writer(), stream, revision.NoStream, large)
				if errors.Is(out.Err, disk.ErrFailed) {
					break
				}
				if out.Err != nil {
					t.Fatal(out.Err)
				}
			}
			if acknowledged == 100 {
				t.Fatal("nothing was refused")
			}
			armed.Store(false)
			_ = store.Close() // Close returns the failure again
			again, err := storage.Open(storage.Config{Dir: "store", FS: fsys})
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			for n := range acknowledged {
				page, err := again.Log().StreamPage(fmt.Sprint("s", n), 0, 0, false, 1)
				if err != nil || len(page) != 1 || len(page[0].Data) != len(large)+2 {
					t.Fatalf("event %d of %d: %d found, %v", n, acknowledged, len(page), err)
				}
			}
		})
	}
}
