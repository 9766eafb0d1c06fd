package commands

import (
	"context"
	"log/slog"

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

// releaseAfter releases a hash that a link has left. A failure is logged only: the link's own
// events show that it left the hash, so the account may claim the hash again either way.
func (h *Handler) releaseAfter(ctx context.Context, r domain.Request, hash, urlID string) {
	if err := h.hashes.Release(ctx, r, hash, urlID); err != nil {
		h.cfg.Logger.WarnContext(ctx, "hash not released, it stays claimed until its account uses "+
			"it again",
			slog.String("hash", hash), slog.String("url", urlID), slog.Any("error", err))
	}
}
