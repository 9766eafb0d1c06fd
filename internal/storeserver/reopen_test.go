package storeserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/embedded"
	"linkledger/events/embedded/disk"
	"linkledger/events/embedded/embeddedtest"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
)

// TestDiskFails fills the disk of a store, or breaks it, while clients append. Appends are then
// refused with the reason, and reads go on. After the disk is mended, everything goes on by itself,
// and what was acknowledged is there.
func TestDiskFails(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(*embeddedtest.Disk){
		"less than the reserve": func(d *embeddedtest.Disk) { d.SetFree(disk.ReserveBytes - 1) },
		"full": func(d *embeddedtest.Disk) {
			d.SetFree(0)
			d.Break(syscall.ENOSPC)
		},
		"full by surprise": func(d *embeddedtest.Disk) { d.Break(syscall.ENOSPC) },
		"input/output":     func(d *embeddedtest.Disk) { d.Break(syscall.EIO) },
		"sync":             func(d *embeddedtest.Disk) { d.BreakSyncs(syscall.EIO) },
		"read-only":        func(d *embeddedtest.Disk) { d.Break(syscall.EROFS) },
		"quota":            func(d *embeddedtest.Disk) { d.Break(syscall.EDQUOT) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fsys := embeddedtest.NewDisk(vfs.Default)
			listener := eventstoretest.Listen(t)
			server, err := Start(t.Context(), embedded.Config{
				Dir: filepath.Join(t.TempDir(), "events"), FS: fsys, Logger: slog.New(slog.DiscardHandler),
			}, listener)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := server.Stop(); err != nil {
					t.Error(err)
				}
			})
			store := eventstoretest.Open(t, server.url())
			load := startLoad(t, store)
			for range 2 {
				within(t, 30*time.Second, func() bool { return load.count() > 20 })
				fault(fsys)
				within(t, time.Second, store.Refuses)
				if err := <-load.refusals; !errors.Is(err, eventstore.ErrRefusesWrites) {
					t.Errorf("refused with %v", err)
				}
				if err := store.Refusal(t.Context()); !errors.Is(err, eventstore.ErrRefusesWrites) {
					t.Errorf("the refusal is %v", err)
				}
				if _, err := store.Load(t.Context(), load.stream(0)); err != nil {
					t.Errorf("read: %v", err)
				}
				if failure := server.current().Stat().Failure; failure == nil {
					t.Error("the state has no failure")
				}
				fsys.SetFree(1 << 40)
				fsys.Mend()
				before := load.count()
				within(t, 5*time.Second, func() bool { return load.count() > before+20 })
				if err := store.Refusal(t.Context()); err != nil {
					t.Errorf("still refused: %v", err)
				}
			}
			load.end()
			for i := range writers {
				load.check(t, store, i)
			}
			checked, err := server.current().Check(t.Context())
			if err != nil || checked.Problems > 0 {
				t.Errorf("%+v, %v", checked, err)
			}
		})
	}
}

const writers = 4

// load is clients that append events, each to its own stream. They repeat what was not
// acknowledged.
type load struct {
	store *eventstore.Store
	stop  context.CancelFunc
	ended sync.WaitGroup

	mu           sync.Mutex
	acknowledged [writers]int
	refusals     chan error
}

func startLoad(t testing.TB, store *eventstore.Store) *load {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	l := &load{store: store, stop: stop, refusals: make(chan error)}
	for i := range writers {
		l.ended.Go(func() { l.append(ctx, i) })
	}
	t.Cleanup(l.end)
	return l
}

func (*load) stream(writer int) string { return fmt.Sprint("tags-", writer) }

func (l *load) append(ctx context.Context, writer int) {
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	command := uuid.New()
	for n := 0; ctx.Err() == nil; {
		_, err := l.store.Append(ctx, eventstoretest.TagWrite(
			l.stream(writer), eventstore.Revision(n-1), command, strconv.Itoa(n),
		))
		if err == nil {
			n++
			command = uuid.New()
			l.mu.Lock()
			l.acknowledged[writer] = n
			l.mu.Unlock()
			continue
		}
		select {
		case l.refusals <- err:
		case <-again.C:
		case <-ctx.Done():
		}
	}
}

// count returns how many events the slowest client has appended.
func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Min(l.acknowledged[:])
}

// within waits until something is the case, and fails if it takes too long.
func within(t *testing.T, limit time.Duration, done func() bool) {
	t.Helper()
	look, late := time.NewTicker(time.Millisecond), time.After(limit)
	defer look.Stop()
	for !done() {
		select {
		case <-look.C:
		case <-late:
			t.Fatalf("not within %s", limit)
		}
	}
}

func (l *load) end() {
	l.stop()
	l.ended.Wait()
}

// check checks that the stream of a client has what was acknowledged, once and in order. The last
// append may be there without an acknowledgement.
func (l *load) check(t *testing.T, store *eventstore.Store, writer int) {
	t.Helper()
	stored, err := store.Load(t.Context(), l.stream(writer))
	if n := l.acknowledged[writer]; err != nil || len(stored) < n || len(stored) > n+1 {
		t.Errorf("%d events of %d, %v", len(stored), n, err)
	}
	for i, r := range stored {
		if e, err := r.Event(); err != nil || e.(events.TagCreated).Label != strconv.Itoa(i) {
			t.Errorf("event %d is %+v, %v", i, e, err)
		}
	}
}
