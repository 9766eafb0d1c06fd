package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"linkledger/commands"
	"linkledger/queries/progress"
)

// The projections that writers and readers wait for.
const (
	projectionLinks      = "links"
	projectionAccounts   = "accounts"
	projectionTags       = "tags"
	projectionHistory    = "history"
	projectionDimensions = "dimensions"
)

// waiter makes calls wait for the read models, each within a timeout.
type waiter struct {
	// Wait returns when a projection has passed a commit position, or with the error of ctx, or with progress.ErrUnowned.
	Wait func(ctx context.Context, projection string, position uint64) error
	// Demand is Wait for what the projector may hold back.
	Demand func(ctx context.Context, projection string, position uint64) error
	// Overtake returns when a projection has what others are known to have, or with the error of ctx.
	Overtake func(ctx context.Context, projection string, others ...string) error

	Clicks  *commands.Clicks // of this node; nil: none
	Timeout time.Duration    // of each wait
	Logger  *slog.Logger
}

// written says how far the log has to be read to see a write. Zero: nothing to see.
type written struct {
	urls, tags uint64 // commit positions
}

// settle tells the client where its write is in the log, and returns when the read models show it, or when that takes
// too long: the write is done either way.
func (w *waiter) settle(c *exchange, last written) {
	end := max(last.urls, last.tags)
	if end == 0 {
		return
	}
	c.Header().Set(headerPosition, strconv.FormatUint(end, 10))
	ctx, cancel := context.WithTimeout(c.context(), w.Timeout)
	defer cancel()
	for _, target := range []struct {
		projection string
		position   uint64
	}{{projectionLinks, last.urls}, {projectionTags, last.tags}} {
		if target.position == 0 {
			continue
		}
		err := w.Wait(ctx, target.projection, target.position)
		if err != nil && !errors.Is(err, progress.ErrUnowned) { // which is logged once, not by each call
			w.Logger.WarnContext(c.context(), "write answered before the read models show it",
				slog.String("request", c.id), slog.String("projection", target.projection),
				slog.Uint64("position", target.position), slog.Any("error", err))
		}
	}
}

// awaitLinks returns when the read models of links have passed a position. It is false when that takes too long.
func (w *waiter) awaitLinks(c *exchange, position uint64) bool {
	ctx, cancel := context.WithTimeout(c.context(), w.Timeout)
	defer cancel()
	return w.Wait(ctx, projectionLinks, position) == nil
}

// awaitClicks returns when a projection shows the redirects that this node has answered so far, or when that takes too
// long: a client that follows a link and asks for its clicks finds the one that just was. Calls whose answers depend on
// clicks wait, each once; the others don't.
func (w *waiter) awaitClicks(c *exchange, projection string) {
	if w.Clicks == nil || w.Clicks.Position() == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(c.context(), w.Timeout)
	defer cancel()
	err := w.Demand(ctx, projection, w.Clicks.Position())
	if err != nil && !errors.Is(err, progress.ErrUnowned) {
		w.Logger.WarnContext(c.context(), "read answered before the read models show all clicks",
			slog.String("request", c.id), slog.String("projection", projection), slog.Any("error", err))
	}
}

// awaitHistory waits for what this node may have shown already.
func (w *waiter) awaitHistory(c *exchange) {
	ctx, cancel := context.WithTimeout(c.context(), w.Timeout)
	defer cancel()
	err := w.Overtake(ctx, projectionHistory, projectionLinks, projectionTags, projectionAccounts)
	if err != nil && !errors.Is(err, progress.ErrUnowned) {
		w.Logger.WarnContext(c.context(), "read answered before the history shows all changes",
			slog.String("request", c.id), slog.Any("error", err))
	}
}
