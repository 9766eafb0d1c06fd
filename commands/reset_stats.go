package commands

import (
	"context"

	"linkledger/commands/domain"
	"linkledger/commands/linkwrite"
	"linkledger/events"
)

// ResetStats resets the click counters of links to zero. It refuses with URLNotFound.
func (h *Handler) ResetStats(
	ctx context.Context, r domain.Request, refs []linkwrite.Ref,
) []linkwrite.Outcome {
	return linkwrite.Each(r, refs, func(
		r domain.Request, ref linkwrite.Ref,
	) (linkwrite.Outcome, error) {
		return h.links.Attempt(r).Change(ctx, linkwrite.Whole, ref, func(
			domain.Link,
		) ([]events.Event, error) {
			return []events.Event{events.URLStatsReset{At: h.streams.Now()}}, nil
		})
	})
}
