package commands

import (
	"context"

	"linkledger/commands/domain"
	"linkledger/events"
)

// DeleteURLs deletes links of the account concurrently. It refuses with URLNotFound and
// URLProtected.
func (h *Handler) DeleteURLs(ctx context.Context, r domain.Request, refs []Ref) []URLOutcome {
	return h.eachURL(r, refs, func(r domain.Request, ref Ref) (URLOutcome, error) {
		return h.changeURL(
			ctx, r, ref,
			func(u domain.Link) ([]events.Event, error) { return u.Delete(h.streams.Now()) },
		)
	})
}
