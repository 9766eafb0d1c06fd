package effects

import (
	"context"
	"sync"

	"linkledger/effects/dispatch"
	"linkledger/effects/outbox"
)

// Run follows the log for an effect while this process owns it, and delivers its messages, until
// ctx ends. It waits for the end of outages, and returns when everything that it started has ended.
func Run(ctx context.Context, effect Effect, cfg Config) {
	stored := outbox.New(effect.Name, cfg.Pool)
	dispatcher := dispatch.New(dispatch.Config{
		Effect: effect.Name, Outbox: stored, Do: effect.Do, Suspend: effect.Suspend,
		Logger: cfg.Logger,
	})
	follower := newFollower(effect, cfg, stored, dispatcher.Wake)
	var delivering sync.WaitGroup
	delivering.Go(func() { dispatcher.Run(ctx) })
	follower.run(ctx)
	delivering.Wait()
}
