package commands

import (
	"context"

	"linkledger/commands/domain"
	"linkledger/commands/linkwrite"
	"linkledger/events"
)

// DeleteURLs deletes links of the account concurrently. It refuses with URLNotFound and
// URLProtected. It also deletes a link whose stream has events that cannot be decoded, because a
// deletion does not depend on these events.
func (h *Handler) DeleteURLs(
	ctx context.Context, r domain.Request, refs []linkwrite.Ref,
) []linkwrite.Outcome {
	return linkwrite.Each(r, refs, func(
		r domain.Request, ref linkwrite.Ref,
	) (linkwrite.Outcome, error) {
		return h.links.Attempt(r).Change(
			ctx, linkwrite.Ending, ref,
			func(u domain.Link) ([]events.Event, error) { return u.Delete(h.streams.Now()) },
		)
	})
}
