// This file puts load on a dev, and records the confirmed creations and redirects.

package e2etest

import (
	"context"
	"flag"
	"fmt"
	"sync"
)

// CrashRounds is how often each long test kills a process. The tests of outages cause a third as
// many outages.
var CrashRounds = flag.Int(
	"crash-rounds", 2,
	"how often TestCrash and TestTakeOver kill a process; TestOutages and TestTakeOver have a "+
		"third as many outages; make crash sets 20",
)

// Ledger records what the service confirmed.
type Ledger struct {
	Mu      sync.Mutex
	Created map[string]string // by hash: long URL
	Clicked map[string]int    // by hash: confirmed redirects
	Unknown map[string]int    // by hash: redirects whose response the crash cut off
}

// Load creates and visits links until the process ends.
func (l *Ledger) Load(ctx context.Context, d *Dev, worker int) {
	for i := 0; ; i++ {
		long := fmt.Sprintf("https://example.com/%d/%d", worker, i)
		answer, err := Call(ctx, d.Base, d.Key, "POST", "/urls",
			fmt.Sprintf(`{"urls":[{"long_url":%q,"tags":["w%d"]},{"long_url":%q}]}`, long, worker, long))
		if err != nil {
			return
		}
		hashes := make([]string, 0, 2)
		l.Mu.Lock()
		for _, item := range answer["urls"].([]any) {
			hash := item.(map[string]any)["hash"].(string)
			hashes = append(hashes, hash)
			l.Created[hash] = long
		}
		l.Mu.Unlock()
		for _, hash := range hashes {
			for range 3 {
				redirected, err := Visit(ctx, d.Base, hash, fmt.Sprintf("visitor %d", worker))
				l.Mu.Lock()
				if err != nil {
					l.Unknown[hash]++
				} else if redirected {
					l.Clicked[hash]++
				}
				l.Mu.Unlock()
				if err != nil {
					return
				}
			}
		}
	}
}
