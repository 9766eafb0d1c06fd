package cache

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/google/uuid"

	"linkledger/projections/readmodel"
	"linkledger/queries"
	"linkledger/queries/progress"
	"linkledger/queries/queriestest"
)

var errAway = errors.New("the database is away")

// book is a database of redirects. TotalClicks is the version of a redirect.
type book struct {
	asked atomic.Int64
	away  atomic.Bool
	// hold, unless nil, delays each result after its read until a value can be received.
	hold chan struct{}

	mu       sync.Mutex
	versions map[string]int64 // 0 if unknown
	owner    uuid.UUID
}

func (b *book) find(_ context.Context, hash string) (queries.Redirect, error) {
	b.asked.Add(1)
	if b.away.Load() {
		return queries.Redirect{}, errAway
	}
	b.mu.Lock()
	target := queries.Redirect{TotalClicks: b.versions[hash], Owner: b.owner}
	b.mu.Unlock()
	if b.hold != nil {
		<-b.hold
	}
	if target.TotalClicks == 0 {
		return queries.Redirect{}, fmt.Errorf("redirect: %w", queries.ErrNotFound)
	}
	return target, nil
}

func (b *book) write(hash string) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.versions == nil {
		b.versions = make(map[string]int64)
	}
	b.versions[hash]++
	return b.versions[hash]
}

// over returns a cache of a book that receives notifications.
func over(t testing.TB, b *book) *Redirects {
	t.Helper()
	targets, err := newRedirects(b.find, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	targets.SetConnected(true)
	return targets
}

// finds checks that the cache returns a version of a redirect with a given number of queries of the
// book.
func finds(t *testing.T, targets *Redirects, b *book, hash string, version, asked int64) {
	t.Helper()
	before := b.asked.Load()
	target, err := targets.Find(queriestest.WithTimeout(t), hash)
	if (version == 0) != errors.Is(err, queries.ErrNotFound) || target.TotalClicks != version {
		t.Errorf("%s is at version %d, %v; want %d", hash, target.TotalClicks, err, version)
	}
	if got := b.asked.Load() - before; got != asked {
		t.Errorf("%s took %d queries, want %d", hash, got, asked)
	}
}

func TestRedirectsAreRemembered(t *testing.T) {
	t.Parallel()
	b := &book{}
	targets := over(t, b)
	finds(t, targets, b, "a", 0, 1)
	finds(t, targets, b, "a", 0, 0) // an unknown hash is cached too
	b.write("a")
	targets.Changed("links", []string{"b", "a"})
	finds(t, targets, b, "a", 1, 1)
	finds(t, targets, b, "a", 1, 0)
	if stats := targets.Stats(); stats.Hits != 2 || stats.Misses != 2 {
		t.Errorf("%+v", stats)
	}
}

// TestRedirectsKeepNoRequests checks that the cache copies the hash, so that an entry does not keep
// the request in memory.
func TestRedirectsKeepNoRequests(t *testing.T) {
	t.Parallel()
	b := &book{}
	targets := over(t, b)
	request := "GET /a?" + strings.Repeat("x", 1<<16)
	finds(t, targets, b, request[5:6], 0, 1)
	for hash := range targets.cache.Keys() {
		if unsafe.StringData(hash) == unsafe.StringData(request[5:6]) {
			t.Error("the cache holds the whole request")
		}
	}
}

func TestRedirectsOfAnOwner(t *testing.T) {
	t.Parallel()
	b := &book{owner: uuid.New()}
	targets := over(t, b)
	b.write("a")
	finds(t, targets, b, "a", 1, 1)
	b.write("a")
	targets.Changed("accounts", []string{uuid.NewString()})
	finds(t, targets, b, "a", 1, 0)
	targets.Changed("accounts", []string{uuid.NewString(), b.owner.String()})
	finds(t, targets, b, "a", 2, 1)
}

// TestRedirectsAskOnce checks that concurrent calls for a hash share one query, even if the first
// of them ends early.
func TestRedirectsAskOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &book{hold: make(chan struct{})}
		targets := over(t, b)
		b.write("a")
		leaving, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := targets.Find(leaving, "a"); !errors.Is(err, context.Canceled) {
				t.Errorf("the call that ended early returned %v", err)
			}
		})
		synctest.Wait()
		for range 100 {
			all.Go(func() {
				if target, err := targets.Find(t.Context(), "a"); err != nil || target.TotalClicks != 1 {
					t.Errorf("%+v, %v", target, err)
				}
			})
		}
		synctest.Wait()
		leave()
		close(b.hold)
		all.Wait()
		if asked := b.asked.Load(); asked != 1 {
			t.Errorf("there were %d queries, want 1", asked)
		}
	})
}

// TestRedirectsThatChangeMeanwhile checks that a result that was read before a change is neither
// cached nor returned to calls that begin after the change.
func TestRedirectsThatChangeMeanwhile(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Redirects){
		"link":         func(targets *Redirects) { targets.Changed("links", []string{"a"}) },
		"account":      func(targets *Redirects) { targets.Changed("accounts", []string{uuid.NewString()}) },
		"interruption": func(targets *Redirects) { targets.SetConnected(false) },
		"resumption":   func(targets *Redirects) { targets.SetConnected(true) },
		"missed":       func(targets *Redirects) { targets.Missed() },
		"everything":   func(targets *Redirects) { targets.Changed("links", []string{readmodel.Everything}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := &book{hold: make(chan struct{})}
				targets := over(t, b)
				b.write("a")
				var both sync.WaitGroup
				both.Go(func() {
					if target, err := targets.Find(t.Context(), "a"); err != nil || target.TotalClicks != 1 {
						t.Errorf("before the change: %+v, %v", target, err)
					}
				})
				synctest.Wait() // the old version is read and delayed
				b.write("a")
				change(targets)
				both.Go(func() {
					if target, err := targets.Find(t.Context(), "a"); err != nil || target.TotalClicks != 2 {
						t.Errorf("after the change: %+v, %v", target, err)
					}
				})
				synctest.Wait()
				close(b.hold)
				both.Wait()
				if target, err := targets.Find(t.Context(), "a"); err != nil || target.TotalClicks != 2 {
					t.Errorf("cached: %+v, %v", target, err)
				}
			})
		})
	}
}

// TestRedirectsWithoutNotifications checks that without notifications a redirect is at most
// StaleBound old, and that entries are looked up again when notifications resume.
func TestRedirectsWithoutNotifications(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &book{}
		targets := over(t, b)
		b.write("a")
		finds(t, targets, b, "a", 1, 1)
		targets.SetConnected(false)
		b.write("a")
		finds(t, targets, b, "a", 2, 1)
		b.write("a")
		time.Sleep(StaleBound - time.Nanosecond)
		finds(t, targets, b, "a", 2, 0)
		time.Sleep(time.Nanosecond)
		finds(t, targets, b, "a", 3, 1)
		b.write("a")
		targets.SetConnected(true)
		finds(t, targets, b, "a", 4, 1)
		time.Sleep(time.Hour)
		finds(t, targets, b, "a", 4, 0)
	})
}

// TestRedirectsWithoutDatabase checks that entries stay valid while the database is unavailable,
// and that few calls wait for it.
func TestRedirectsWithoutDatabase(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &book{}
		targets := over(t, b)
		b.write("a")
		finds(t, targets, b, "a", 1, 1)
		finds(t, targets, b, "none", 0, 1)
		targets.SetConnected(false)
		b.away.Store(true)
		b.write("a")
		for range 10 {
			finds(t, targets, b, "a", 1, 1) // one call in each StaleBound queries the database
			for range 100 {
				finds(t, targets, b, "a", 1, 0)
			}
			finds(t, targets, b, "none", 0, 0)
			time.Sleep(StaleBound)
		}
		if _, err := targets.Find(t.Context(), "new"); !errors.Is(err, errAway) {
			t.Errorf("a redirect that is not in memory: %v", err)
		}
		b.away.Store(false)
		time.Sleep(StaleBound)
		finds(t, targets, b, "a", 2, 1)
	})
}

func TestRedirectsStayWithinTheirBytes(t *testing.T) {
	t.Parallel()
	b := &book{}
	targets := over(t, b)
	for i := range 20_000 {
		finds(t, targets, b, strconv.Itoa(i), 0, 1)
	}
	targets.cache.CleanUp()
	if stats := targets.Stats(); stats.Bytes > 1<<20 || stats.Entries < 1000 {
		t.Errorf("%+v in 1 MiB", stats)
	}
}

// TestRedirectsNeverGoBack checks that a call after a reported change never returns an older
// version, whatever other calls and changes run concurrently.
func TestRedirectsNeverGoBack(t *testing.T) {
	t.Parallel()
	b := &book{}
	targets := over(t, b)
	var told [4]atomic.Int64 // latest reported versions
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(worker), 1))
			for range 3000 {
				i := random.IntN(len(told))
				hash := strconv.Itoa(i)
				if worker == i { // one writer per hash
					version := b.write(hash)
					targets.Changed("links", []string{hash})
					told[i].Store(version)
					continue
				}
				known := told[i].Load()
				target, err := targets.Find(t.Context(), hash)
				if err != nil && !errors.Is(err, queries.ErrNotFound) || target.TotalClicks < known {
					t.Errorf("%s is at %d, %v; version %d was reported", hash, target.TotalClicks, err, known)
				}
			}
		})
	}
	all.Wait()
}

// TestWaiterInvalidatesRedirects checks that a change by another process is visible once its
// position is reached.
func TestWaiterInvalidatesRedirects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	targets, err := NewRedirects(w.q, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	f := progress.NewWaiter(w.DB)
	f.Caches = []progress.Cache{targets}
	follow(t, f)
	queriestest.Commit(t, w.DB, "links", 1, true)
	mustWait(t, f, "links", 1)
	for i := range uint64(20) {
		before, err := targets.Find(queriestest.WithTimeout(t), "bare")
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("https://example.com/%d", i)
		if _, err := w.DB.NewRaw(`BEGIN; UPDATE linkledger.links SET long_url = ?0 WHERE hash = 'bare';
			SELECT pg_notify(?1, 'links changed other bare '); SELECT pg_notify(?1, ?2); COMMIT`,
			want, readmodel.Channel, fmt.Sprint("links ", i+2)).Exec(queriestest.WithTimeout(t)); err != nil {
			t.Fatal(err)
		}
		mustWait(t, f, "links", i+2)
		if after, err := targets.Find(queriestest.WithTimeout(t), "bare"); err != nil || after.LongURL != want {
			t.Errorf("%s, %v; want %s, previously %s", after.LongURL, err, want, before.LongURL)
		}
	}
}

func BenchmarkRedirectsFind(b *testing.B) {
	known := &book{}
	targets := over(b, known)
	known.write("a")
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := targets.Find(b.Context(), "a"); err != nil {
				b.Error(err)
			}
		}
	})
}
