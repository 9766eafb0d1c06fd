// Package catchup makes calls wait until the read models show what their answers depend on: a write
// that was just done, or the clicks that this node has just answered.
package catchup

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"linkledger/commands/clicks"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/queries/progress"
)

// The projections that writers and readers wait for.
const (
	Links      = "links"
	Dimensions = "dimensions"

	accounts = "accounts"
	tags     = "tags"
	history  = "history"
)

// Waiter makes calls wait for the read models, each within a timeout.
type Waiter struct {
	// Wait returns when a projection has passed a commit position, or with the error of ctx, or
	// with progress.ErrUnowned.
	Wait func(ctx context.Context, projection string, position uint64) error
	// Demand is Wait for what the projector may hold back.
	Demand func(ctx context.Context, projection string, position uint64) error
	// Overtake returns when a projection has what others are known to have, or with the error of
	// ctx.
	Overtake func(ctx context.Context, projection string, others ...string) error

	Clicks  *clicks.Recorder // of this node; nil: none
	Timeout time.Duration    // of each wait
	Logger  *slog.Logger
}

// Written says how far the log has to be read to see a write. Zero: nothing to see.
type Written struct {
	URLs, Tags uint64 // commit positions
}

// Settle tells the client where its write is in the log, and returns when the read models show it,
// or when that takes too long: the write is done either way.
func (w *Waiter) Settle(c *request.Context, last Written) {
	end := max(last.URLs, last.Tags)
	if end == 0 {
		return
	}
	c.Header().Set(response.HeaderPosition, strconv.FormatUint(end, 10))
	ctx, cancel := context.WithTimeout(c.Context(), w.Timeout)
	defer cancel()
	for _, target := range []struct {
		projection string
		position   uint64
	}{{Links, last.URLs}, {tags, last.Tags}} {
		if target.position == 0 {
			continue
		}
		err := w.Wait(ctx, target.projection, target.position)
		// which is logged once, not by each call
		if err != nil && !errors.Is(err, progress.ErrUnowned) {
			w.Logger.WarnContext(c.Context(), "write answered before the read models show it",
				slog.String("request", c.ID), slog.String("projection", target.projection),
				slog.Uint64("position", target.position), slog.Any("error", err))
		}
	}
}

// AwaitLinks returns when the read models of links have passed a position. It is false when that
// takes too long.
func (w *Waiter) AwaitLinks(c *request.Context, position uint64) bool {
	ctx, cancel := context.WithTimeout(c.Context(), w.Timeout)
	defer cancel()
	return w.Wait(ctx, Links, position) == nil
}

// AwaitClicks returns when a projection shows the redirects that this node has answered so far, or
// when that takes too long: a client that follows a link and asks for its clicks finds the one that
// just was. Calls whose answers depend on clicks wait, each once; the others don't.
func (w *Waiter) AwaitClicks(c *request.Context, projection string) {
	if w.Clicks == nil || w.Clicks.Position() == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(c.Context(), w.Timeout)
	defer cancel()
	err := w.Demand(ctx, projection, w.Clicks.Position())
	if err != nil && !errors.Is(err, progress.ErrUnowned) {
		w.Logger.WarnContext(c.Context(), "read answered before the read models show all clicks",
			slog.String("request", c.ID), slog.String("projection", projection),
			slog.Any("error", err))
	}
}

// AwaitHistory waits for what this node may have shown already.
func (w *Waiter) AwaitHistory(c *request.Context) {
	ctx, cancel := context.WithTimeout(c.Context(), w.Timeout)
	defer cancel()
	err := w.Overtake(ctx, history, Links, tags, accounts)
	if err != nil && !errors.Is(err, progress.ErrUnowned) {
		w.Logger.WarnContext(c.Context(), "read answered before the history shows all changes",
			slog.String("request", c.ID), slog.Any("error", err))
	}
}
