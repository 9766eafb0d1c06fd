// Package batch runs the items of one call concurrently. Items that share a key run in order.
package batch

import (
	"golang.org/x/sync/errgroup"
)

// concurrency is how many items of one batch run at a time.
const concurrency = 50

// Run calls do for each of n items concurrently. Items that share a key run in order, so the first
// of two items that want the same hash gets it. keys may return nil. Run returns when all items are
// done.
func Run(n int, keys func(i int) []string, do func(i int)) {
	if n == 1 { // most batches; a goroutine would have to grow its stack
		do(0)
		return
	}
	var group errgroup.Group
	group.SetLimit(concurrency)
	// last has, for each key, a channel that closes when the latest item with that key is done.
	last := make(map[string]chan struct{})
	for i := range n {
		done := make(chan struct{})
		var before []chan struct{}
		for _, key := range keys(i) {
			if earlier, shared := last[key]; shared && earlier != done {
				before = append(before, earlier)
			}
			last[key] = done
		}
		group.Go(func() error {
			defer close(done)
			for _, earlier := range before { // earlier items have been started, so this ends
				<-earlier
			}
			do(i)
			return nil
		})
	}
	_ = group.Wait() // the items keep their own errors
}
