package commands

import (
	"context"

	"linkledger/commands/domain"
	"linkledger/events"
)

// DeleteURLs deletes links of the account concurrently. It refuses with URLNotFound and
// URLProtected. A link whose stream has events that cannot be decoded is deleted all the same:
// whatever they say, the link is gone after them.
func (h *Handler) DeleteURLs(ctx context.Context, r domain.Request, refs []Ref) []URLOutcome {
	return h.eachURL(r, refs, func(r domain.Request, ref Ref) (URLOutcome, error) {
		return h.changeURL(
			ctx, r, ending, ref,
			func(u domain.Link) ([]events.Event, error) { return u.Delete(h.streams.Now()) },
		)
	})
}
