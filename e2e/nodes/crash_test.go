package nodes_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"linkledger/e2e/e2etest"
)

// checkLedger checks that each confirmed create and click is there exactly once.
func checkLedger(t *testing.T, l *e2etest.Ledger, d *e2etest.Dev) {
	t.Helper()
	var all sync.WaitGroup
	limit := make(chan struct{}, 8)
	for hash, long := range l.Created {
		all.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			least, most, clicks := l.Clicked[hash], l.Clicked[hash]+l.Unknown[hash], -1
			// Clicks that were in the spool when the process was killed are appended shortly after
			// the start.
			for late := time.Now().Add(e2etest.StartTimeout); clicks < least && time.Now().Before(late); {
				answer, err := e2etest.Call(t.Context(), d.Base, d.Key, "GET", "/urls/"+hash, "")
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
				t.Errorf("%s has %d clicks, %d were answered and %d cut off", hash, clicks, least, l.Unknown[hash])
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
	l := &e2etest.Ledger{Created: map[string]string{}, Clicked: map[string]int{}, Unknown: map[string]int{}}
	key := ""
	for round := range *e2etest.CrashRounds {
		d := e2etest.StartDev(t, folder)
		if key == "" {
			key = d.Key
		}
		d.Key = key
		checkLedger(t, l, d)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Duration(1+round%4)*500*time.Millisecond, d.Kill)
		var workers sync.WaitGroup
		for worker := range 8 {
			workers.Go(func() { l.Load(ctx, d, worker) })
		}
		workers.Wait()
		cancel()
		<-d.Ended
	}
	d := e2etest.StartDev(t, folder)
	d.Key = key
	checkLedger(t, l, d)
	d.Interrupt()
	clicks := 0
	for _, n := range l.Clicked {
		clicks += n
	}
	t.Logf("%d rounds: %d links and %d clicks answered, all there", *e2etest.CrashRounds, len(l.Created), clicks)
	if len(l.Created) == 0 || clicks == 0 {
		t.Error("no load was put on the process")
	}
}
