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

// redirectSource is a database of redirects. TotalClicks is the version of a redirect.
type redirectSource struct {
	lookUps atomic.Int64
	away    atomic.Bool
	// hold, unless nil, delays each result after its read until a value can be received.
	hold chan struct{}

	mu       sync.Mutex
	versions map[string]int64 // 0 if unknown
	owner    uuid.UUID
}

func (source *redirectSource) find(_ context.Context, hash string) (queries.Redirect, error) {
	source.lookUps.Add(1)
	if source.away.Load() {
		return queries.Redirect{}, errAway
	}
	source.mu.Lock()
	redirect := queries.Redirect{TotalClicks: source.versions[hash], Owner: source.owner}
	source.mu.Unlock()
	if source.hold != nil {
		<-source.hold
	}
	if redirect.TotalClicks == 0 {
		return queries.Redirect{}, fmt.Errorf("redirect: %w", queries.ErrNotFound)
	}
	return redirect, nil
}

func (source *redirectSource) write(hash string) int64 {
	source.mu.Lock()
	defer source.mu.Unlock()
	if source.versions == nil {
		source.versions = make(map[string]int64)
	}
	source.versions[hash]++
	return source.versions[hash]
}

// newCacheOf returns a cache of a source that receives notifications.
func newCacheOf(t testing.TB, source *redirectSource) *Redirects {
	t.Helper()
	redirects, err := newRedirects(source.find, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	redirects.SetConnected(true)
	return redirects
}

// wantVersion checks that the cache returns a version of a redirect with a given number of queries
// of the source.
func wantVersion(t *testing.T, redirects *Redirects, source *redirectSource, hash string, version, lookUps int64) {
	t.Helper()
	before := source.lookUps.Load()
	redirect, err := redirects.Find(queriestest.WithTimeout(t), hash)
	if (version == 0) != errors.Is(err, queries.ErrNotFound) || redirect.TotalClicks != version {
		t.Errorf("%s is at version %d, %v; want %d", hash, redirect.TotalClicks, err, version)
	}
	if got := source.lookUps.Load() - before; got != lookUps {
		t.Errorf("%s took %d queries, want %d", hash, got, lookUps)
	}
}

func TestRedirectsAreRemembered(t *testing.T) {
	t.Parallel()
	source := &redirectSource{}
	redirects := newCacheOf(t, source)
	wantVersion(t, redirects, source, "a", 0, 1)
	wantVersion(t, redirects, source, "a", 0, 0) // an unknown hash is cached too
	source.write("a")
	redirects.Changed("links", []string{"b", "a"})
	wantVersion(t, redirects, source, "a", 1, 1)
	wantVersion(t, redirects, source, "a", 1, 0)
	if stats := redirects.Stats(); stats.Hits != 2 || stats.Misses != 2 {
		t.Errorf("%+v", stats)
	}
}

// TestRedirectsKeepNoRequests checks that the cache copies the hash, so that an entry does not keep
// the request in memory.
func TestRedirectsKeepNoRequests(t *testing.T) {
	t.Parallel()
	source := &redirectSource{}
	redirects := newCacheOf(t, source)
	request := "GET /a?" + strings.Repeat("x", 1<<16)
	wantVersion(t, redirects, source, request[5:6], 0, 1)
	for hash := range redirects.cache.Keys() {
		if unsafe.StringData(hash) == unsafe.StringData(request[5:6]) {
			t.Error("the cache holds the whole request")
		}
	}
}

func TestRedirectsOfAnOwner(t *testing.T) {
	t.Parallel()
	source := &redirectSource{owner: uuid.New()}
	redirects := newCacheOf(t, source)
	source.write("a")
	wantVersion(t, redirects, source, "a", 1, 1)
	source.write("a")
	redirects.Changed("accounts", []string{uuid.NewString()})
	wantVersion(t, redirects, source, "a", 1, 0)
	redirects.Changed("accounts", []string{uuid.NewString(), source.owner.String()})
	wantVersion(t, redirects, source, "a", 2, 1)
}

// TestRedirectsAskOnce checks that concurrent calls for a hash share one query, even if the first
// of them ends early.
func TestRedirectsAskOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &redirectSource{hold: make(chan struct{})}
		redirects := newCacheOf(t, source)
		source.write("a")
		leaving, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := redirects.Find(leaving, "a"); !errors.Is(err, context.Canceled) {
				t.Errorf("the call that ended early returned %v", err)
			}
		})
		synctest.Wait()
		for range 100 {
			all.Go(func() {
				if redirect, err := redirects.Find(t.Context(), "a"); err != nil || redirect.TotalClicks != 1 {
					t.Errorf("%+v, %v", redirect, err)
				}
			})
		}
		synctest.Wait()
		leave()
		close(source.hold)
		all.Wait()
		if lookUps := source.lookUps.Load(); lookUps != 1 {
			t.Errorf("there were %d queries, want 1", lookUps)
		}
	})
}

// TestRedirectsThatChangeMeanwhile checks that a result that was read before a change is neither
// cached nor returned to calls that begin after the change.
func TestRedirectsThatChangeMeanwhile(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Redirects){
		"link":         func(redirects *Redirects) { redirects.Changed("links", []string{"a"}) },
		"account":      func(redirects *Redirects) { redirects.Changed("accounts", []string{uuid.NewString()}) },
		"interruption": func(redirects *Redirects) { redirects.SetConnected(false) },
		"resumption":   func(redirects *Redirects) { redirects.SetConnected(true) },
		"missed":       func(redirects *Redirects) { redirects.Missed() },
		"everything":   func(redirects *Redirects) { redirects.Changed("links", []string{readmodel.Everything}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				source := &redirectSource{hold: make(chan struct{})}
				redirects := newCacheOf(t, source)
				source.write("a")
				var both sync.WaitGroup
				both.Go(func() {
					if redirect, err := redirects.Find(t.Context(), "a"); err != nil || redirect.TotalClicks != 1 {
						t.Errorf("before the change: %+v, %v", redirect, err)
					}
				})
				synctest.Wait() // the old version is read and delayed
				source.write("a")
				change(redirects)
				both.Go(func() {
					if redirect, err := redirects.Find(t.Context(), "a"); err != nil || redirect.TotalClicks != 2 {
						t.Errorf("after the change: %+v, %v", redirect, err)
					}
				})
				synctest.Wait()
				close(source.hold)
				both.Wait()
				if redirect, err := redirects.Find(t.Context(), "a"); err != nil || redirect.TotalClicks != 2 {
					t.Errorf("cached: %+v, %v", redirect, err)
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
		source := &redirectSource{}
		redirects := newCacheOf(t, source)
		source.write("a")
		wantVersion(t, redirects, source, "a", 1, 1)
		redirects.SetConnected(false)
		source.write("a")
		wantVersion(t, redirects, source, "a", 2, 1)
		source.write("a")
		time.Sleep(StaleBound - time.Nanosecond)
		wantVersion(t, redirects, source, "a", 2, 0)
		time.Sleep(time.Nanosecond)
		wantVersion(t, redirects, source, "a", 3, 1)
		source.write("a")
		redirects.SetConnected(true)
		wantVersion(t, redirects, source, "a", 4, 1)
		time.Sleep(time.Hour)
		wantVersion(t, redirects, source, "a", 4, 0)
	})
}

// TestRedirectsWithoutDatabase checks that entries stay valid while the database is unavailable,
// and that few calls wait for it.
func TestRedirectsWithoutDatabase(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &redirectSource{}
		redirects := newCacheOf(t, source)
		source.write("a")
		wantVersion(t, redirects, source, "a", 1, 1)
		wantVersion(t, redirects, source, "none", 0, 1)
		redirects.SetConnected(false)
		source.away.Store(true)
		source.write("a")
		for range 10 {
			wantVersion(t, redirects, source, "a", 1, 1) // one call in each StaleBound queries the database
			for range 100 {
				wantVersion(t, redirects, source, "a", 1, 0)
			}
			wantVersion(t, redirects, source, "none", 0, 0)
			time.Sleep(StaleBound)
		}
		if _, err := redirects.Find(t.Context(), "new"); !errors.Is(err, errAway) {
			t.Errorf("a redirect that is not in memory: %v", err)
		}
		source.away.Store(false)
		time.Sleep(StaleBound)
		wantVersion(t, redirects, source, "a", 2, 1)
	})
}

// TestRedirectsDoNotWaitForADatabaseThatHangs checks that visitors of links that are not in memory have time to read
// the log instead: the first one waits for a moment, and later ones do not wait.
func TestRedirectsDoNotWaitForADatabaseThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &redirectSource{hold: make(chan struct{})}
		redirects := newCacheOf(t, source)
		source.write("a")
		took := func(hash string, asks int64) time.Duration {
			t.Helper()
			began, before := time.Now(), source.lookUps.Load()
			if _, err := redirects.Find(t.Context(), hash); err == nil || errors.Is(err, queries.ErrNotFound) {
				t.Errorf("%s is answered with %v", hash, err)
			}
			synctest.Wait()
			if got := source.lookUps.Load() - before; got != asks {
				t.Errorf("%s took %d queries, want %d", hash, got, asks)
			}
			return time.Since(began)
		}
		if waited := took("a", 1); waited != firstTimeout || !redirects.Away() {
			t.Errorf("the first visitor waits %s, away %t", waited, redirects.Away())
		}
		if waited := took("b", 0); waited != 0 {
			t.Errorf("the second visitor waits %s", waited)
		}
		time.Sleep(StaleBound)
		if waited := took("b", 1); waited != firstTimeout {
			t.Errorf("a visitor who tries again waits %s", waited)
		}
		close(source.hold)
		synctest.Wait()
		wantVersion(t, redirects, source, "a", 1, 0)
	})
}

func TestRedirectsStayWithinTheirBytes(t *testing.T) {
	t.Parallel()
	source := &redirectSource{}
	redirects := newCacheOf(t, source)
	for i := range 20_000 {
		wantVersion(t, redirects, source, strconv.Itoa(i), 0, 1)
	}
	redirects.cache.CleanUp()
	if stats := redirects.Stats(); stats.Bytes > 1<<20 || stats.Entries < 1000 {
		t.Errorf("%+v in 1 MiB", stats)
	}
}

// TestRedirectsNeverGoBack checks that a call after a reported change never returns an older
// version, whatever other calls and changes run concurrently.
func TestRedirectsNeverGoBack(t *testing.T) {
	t.Parallel()
	source := &redirectSource{}
	redirects := newCacheOf(t, source)
	var reported [4]atomic.Int64 // latest reported versions
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(worker), 1))
			for range 3000 {
				i := random.IntN(len(reported))
				hash := strconv.Itoa(i)
				if worker == i { // one writer per hash
					version := source.write(hash)
					redirects.Changed("links", []string{hash})
					reported[i].Store(version)
					continue
				}
				known := reported[i].Load()
				redirect, err := redirects.Find(t.Context(), hash)
				if err != nil && !errors.Is(err, queries.ErrNotFound) || redirect.TotalClicks < known {
					t.Errorf("%s is at %d, %v; version %d was reported", hash, redirect.TotalClicks, err, known)
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
	redirects, err := NewRedirects(w.q, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	f := progress.NewWaiter(w.DB)
	f.Caches = []progress.Cache{redirects}
	queriestest.Run(t, f.Run)
	queriestest.Commit(t, w.DB, "links", 1, true)
	mustWait(t, f, "links", 1)
	for i := range uint64(20) {
		before, err := redirects.Find(queriestest.WithTimeout(t), "bare")
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
		if after, err := redirects.Find(queriestest.WithTimeout(t), "bare"); err != nil || after.LongURL != want {
			t.Errorf("%s, %v; want %s, previously %s", after.LongURL, err, want, before.LongURL)
		}
	}
}

func BenchmarkRedirectsFind(b *testing.B) {
	known := &redirectSource{}
	redirects := newCacheOf(b, known)
	known.write("a")
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := redirects.Find(b.Context(), "a"); err != nil {
				b.Error(err)
			}
		}
	})
}
