package commands

import (
	"context"

	"linkledger/commands/domain"
	"linkledger/events"
)

// ResetStats makes the counters of links of the account start again from zero. It refuses with
// URLNotFound.
func (h *Handler) ResetStats(ctx context.Context, r domain.Request, refs []Ref) []URLOutcome {
	return h.eachURL(r, refs, func(r domain.Request, ref Ref) (URLOutcome, error) {
		return h.changeURL(ctx, r, ref, func(domain.Link) ([]events.Event, error) {
			return []events.Event{events.URLStatsReset{At: h.streams.Now()}}, nil
		})
	})
}
