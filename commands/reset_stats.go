package commands

import (
	"context"

	"linkledger/events"
)

// ResetStats makes the counters of links of the account start again from zero. It refuses with URLNotFound.
func (h *Handler) ResetStats(ctx context.Context, r Request, refs []Ref) []URLOutcome {
	return h.eachURL(r, refs, func(r Request, ref Ref) (URLOutcome, error) {
		return h.changeURL(ctx, r, ref, func(URL) ([]events.Event, error) {
			return []events.Event{events.URLStatsReset{At: h.now()}}, nil
		})
	})
}
