package e2e

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

var crashRounds = flag.Int(
	"crash-rounds", 2,
	"how often TestCrash and TestTakeOver kill a process, and three times as often as TestOutages and TestTakeOver go "+
		"through their outages; make crash does 20",
)

// ledger records what the service confirmed.
type ledger struct {
	mu      sync.Mutex
	created map[string]string // by hash: long URL
	clicked map[string]int    // by hash: confirmed redirects
	unknown map[string]int    // by hash: redirects whose response the crash cut off
}

// load creates and visits links until the process ends.
func (l *ledger) load(ctx context.Context, d *dev, worker int) {
	for i := 0; ; i++ {
		long := fmt.Sprintf("https://example.com/%d/%d", worker, i)
		answer, err := call(ctx, d.base, d.key, "POST", "/urls",
			fmt.Sprintf(`{"urls":[{"long_url":%q,"tags":["w%d"]},{"long_url":%q}]}`, long, worker, long))
		if err != nil {
			return
		}
		hashes := make([]string, 0, 2)
		l.mu.Lock()
		for _, item := range answer["urls"].([]any) {
			hash := item.(map[string]any)["hash"].(string)
			hashes = append(hashes, hash)
			l.created[hash] = long
		}
		l.mu.Unlock()
		for _, hash := range hashes {
			for range 3 {
				redirected, err := visit(ctx, d.base, hash, fmt.Sprintf("visitor %d", worker))
				l.mu.Lock()
				if err != nil {
					l.unknown[hash]++
				} else if redirected {
					l.clicked[hash]++
				}
				l.mu.Unlock()
				if err != nil {
					return
				}
			}
		}
	}
}

// checkLedger checks that each confirmed create and click is there exactly once.
func checkLedger(t *testing.T, l *ledger, d *dev) {
	t.Helper()
	var all sync.WaitGroup
	limit := make(chan struct{}, 8)
	for hash, long := range l.created {
		all.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			least, most, clicks := l.clicked[hash], l.clicked[hash]+l.unknown[hash], -1
			// Clicks that were in the spool when the process was killed are appended shortly after
			// the start.
			for late := time.Now().Add(startTimeout); clicks < least && time.Now().Before(late); {
				answer, err := call(t.Context(), d.base, d.key, "GET", "/urls/"+hash, "")
				if err != nil {
					t.Errorf("a confirmed create is lost: %v", err)
					return
				}
				url := answer["urls"].([]any)[0].(map[string]any)
				if url["long_url"] != long {
					t.Errorf("%s leads to %v, was created for %s", hash, url["long_url"], long)
				}
				clicks = int(url["total_clicks"].(float64))
			}
			if clicks < least || clicks > most {
				t.Errorf("%s has %d clicks, %d were answered and %d cut off", hash, clicks, least, l.unknown[hash])
			}
		})
	}
	all.Wait()
}

// TestCrash kills the real process under load several times, and checks that each confirmed create
// and click is there exactly once.
func TestCrash(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "data")
	l := &ledger{created: map[string]string{}, clicked: map[string]int{}, unknown: map[string]int{}}
	key := ""
	for round := range *crashRounds {
		d := startDev(t, folder)
		if key == "" {
			key = d.key
		}
		d.key = key
		checkLedger(t, l, d)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Duration(1+round%4)*500*time.Millisecond, d.kill)
		var workers sync.WaitGroup
		for worker := range 8 {
			workers.Go(func() { l.load(ctx, d, worker) })
		}
		workers.Wait()
		cancel()
		<-d.ended
	}
	d := startDev(t, folder)
	d.key = key
	checkLedger(t, l, d)
	d.interrupt()
	clicks := 0
	for _, n := range l.clicked {
		clicks += n
	}
	t.Logf("%d rounds: %d links and %d clicks answered, all there", *crashRounds, len(l.created), clicks)
	if len(l.created) == 0 || clicks == 0 {
		t.Error("no load was put on the process")
	}
}
