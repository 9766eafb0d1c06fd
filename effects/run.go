package effects

import (
	"context"
	"sync"
)

// Run follows the log for an effect while this process owns it, and delivers its messages, until
// ctx ends. It waits for the end of outages, and returns when everything that it started has ended.
func Run(ctx context.Context, effect Effect, cfg Config) {
	dispatcher := NewDispatcher(effect, cfg)
	follower := NewFollower(effect, cfg, dispatcher.Wake)
	var delivering sync.WaitGroup
	delivering.Go(func() { dispatcher.Run(ctx) })
	follower.Run(ctx)
	delivering.Wait()
}
