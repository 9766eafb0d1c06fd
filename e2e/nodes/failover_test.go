package nodes_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"linkledger/e2e/e2etest"
	"linkledger/e2e/installtest"
	"linkledger/projections"
)

// failOver is the load of one round: writers and a reader on the node that takes over.
type failOver struct {
	p       *pair
	at      *installtest.Node
	mu      sync.Mutex
	creates []time.Duration // durations, starting just before the kill
	seen    float64         // largest number of links that the reader has seen
	wrong   []error
}

// watch creates links with four writers, and reads the number of links, until ctx ends.
func (f *failOver) watch(ctx context.Context) *sync.WaitGroup {
	var clients sync.WaitGroup
	for worker := range 4 {
		clients.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				began := time.Now()
				_, err := e2etest.Call(context.WithoutCancel(ctx), f.at.Base, f.p.Key, http.MethodPost, "/urls",
					fmt.Sprintf(`{"urls":[{"long_url":"https://example.com/%d/%d"}]}`, worker, i))
				f.note(err, func() { f.creates = append(f.creates, time.Since(began)) })
			}
		})
	}
	clients.Go(func() {
		for ctx.Err() == nil {
			answer, err := e2etest.Call(context.WithoutCancel(ctx), f.at.Base, f.p.Key, http.MethodGet, "/urls?limit=1", "")
			f.note(err, func() {
				total := answer["page"].(map[string]any)["total_count"].(float64)
				if total < f.seen {
					f.wrong = append(f.wrong, fmt.Errorf("%g links after %g", total, f.seen))
				}
				f.seen = total
			})
		}
	})
	return &clients
}

func (f *failOver) note(err error, success func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.wrong = append(f.wrong, err)
		return
	}
	success()
}

// TestFailOver kills the process that owns all projections under load. The other node must own them
// long before the lease expires and answer every create meanwhile, and no read may return an older
// state than the read before it.
func TestFailOver(t *testing.T) {
	t.Parallel()
	p := installPair(t)
	var owned, p95, worst []time.Duration
	for range *e2etest.CrashRounds {
		victim := p.ownsAll()
		f := &failOver{p: p, at: &p.nodes[1-victim]}
		ctx, stop := context.WithCancel(t.Context())
		clients := f.watch(ctx)
		p.awaitProgress()
		f.note(nil, func() { f.creates = nil })
		p.nodes[victim].Kill()
		owned = append(owned, p.takeOver(victim))
		select {
		case <-time.After(2 * time.Second): // more creates, for the 95th percentile
		case <-ctx.Done():
		}
		stop()
		clients.Wait()
		if err := errors.Join(f.wrong...); err != nil {
			t.Error(err)
		}
		slices.Sort(f.creates)
		p95 = append(p95, f.creates[len(f.creates)*95/100])
		worst = append(worst, f.creates[len(f.creates)-1])
		p.start(victim)
	}
	t.Logf("new owner within %v\n95th percentile of creates %v\nslowest creates %v", owned, p95, worst)
	if slowest := slices.Max(owned); slowest > 3*time.Second {
		t.Errorf("the takeover from a killed owner took %s, as long as the expiry of its lease", slowest)
	}
	p.verify("all")
}

// ownsAll waits until one node owns all projections and the other one is ready, and returns the
// owner.
func (p *pair) ownsAll() (owner int) {
	p.T.Helper()
	p.Eventually("one node owns all projections, and the other one is ready", func() bool {
		for n := range 2 {
			if len(p.owned(n)) == len(projections.Names()) {
				owner = n
				response, err := http.Get(p.nodes[1-n].Admin + "/health/ready")
				if err != nil {
					return false
				}
				return response.Body.Close() == nil && response.StatusCode == http.StatusOK
			}
		}
		return false
	})
	return owner
}

// TestOnlyProjectorIsKilled kills and restarts the only process. Earlier clicks must be visible
// long before the lease of the killed process expires. While no process keeps the projections up to
// date, a service that only serves the API must not be ready, and its writes must not wait.
func TestOnlyProjectorIsKilled(t *testing.T) {
	t.Parallel()
	i := installtest.Install(t)
	i.Eventually("the account is known", func() bool { return i.Clicks() == 0 })
	if _, err := e2etest.Call(t.Context(), i.Base, i.Key, http.MethodPost, "/urls",
		`{"urls":[{"long_url":"https://example.com/","custom_hash":"link0"}]}`); err != nil {
		t.Fatal(err)
	}
	crowd := i.Visit(1)
	i.AwaitRedirects(crowd)
	i.Service.Kill()
	crowd.Stop()
	crowd.Visitors.Wait()
	killed := time.Now()
	i.StartService()
	i.Eventually("the clicks are shown", func() bool { return i.Clicks() >= crowd.Answered.Load() })
	took := time.Since(killed)
	t.Logf("clicks shown %s after the kill, with the start of the next process", took)
	if took > 4*time.Second {
		t.Error("the restart took as long as the expiry of a lease")
	}

	base, admin := "http://"+installtest.FreeAddress(t), "http://"+installtest.FreeAddress(t)
	i.Serve(base, admin, "spool 2", "--roles", "api", "--wait-timeout", "8s")
	i.Eventually("the second service is ready", func() bool { return installtest.Readiness(t, admin)["projection links"] == "ok" })
	i.Service.Kill()
	i.Eventually("a projection without an owner is reported", func() bool {
		return strings.Contains(installtest.Readiness(t, admin)["projection links"], "no process keeps it up to date")
	})
	create := func() time.Duration {
		began := time.Now()
		if _, err := e2etest.Call(
			t.Context(), base, i.Key, http.MethodPost, "/urls", `{"urls":[{"long_url":"https://example.com/"}]}`,
		); err != nil {
			t.Error(err)
		}
		return time.Since(began)
	}
	first, second := create(), create()
	t.Logf("creates without a projector took %s and %s", first, second)
	if first > 4*time.Second || second > 4*time.Second {
		t.Error("creates waited for a projection that has no owner")
	}
}
