package commands

import (
	"context"

	"linkledger/commands/domain"
	"linkledger/events"
)

// ResetStats resets the click counters of links to zero. It refuses with URLNotFound.
func (h *Handler) ResetStats(ctx context.Context, r domain.Request, refs []Ref) []URLOutcome {
	return h.eachURL(r, refs, func(r domain.Request, ref Ref) (URLOutcome, error) {
		return h.changeURL(ctx, r, whole, ref, func(domain.Link) ([]events.Event, error) {
			return []events.Event{events.URLStatsReset{At: h.streams.Now()}}, nil
		})
	})
}
