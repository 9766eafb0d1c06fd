package commands

import (
	"context"
	"log/slog"

	"linkledger/events"
)

// DeleteURL deletes the link that lives under a hash of the account. It refuses with URLNotFound and URLProtected.
func (h *Handler) DeleteURL(ctx context.Context, r Request, hash string) URLOutcome {
	outcome, err := retry(func() (URLOutcome, error) {
		url, loaded, err := h.urlByHash(ctx, r, hash)
		if err != nil {
			return URLOutcome{}, err
		}
		stream := events.StreamURL + url.ID
		if loaded.holds(r.Command, stream) {
			return URLOutcome{URL: url, Position: loaded.position()}, nil
		}
		deleted, err := url.delete(h.now())
		if err != nil {
			return URLOutcome{}, err
		}
		appended, err := h.append(ctx, r, stream, loaded.revision(), deleted...)
		if err != nil {
			return URLOutcome{}, err
		}
		h.releaseAfter(ctx, r, hash, url.ID)
		url.evolve(deleted[0])
		return URLOutcome{URL: url, Position: appended.Position}, nil
	})
	outcome.Err = err
	return outcome
}

// releaseAfter releases a hash that a link has left. The link's own events have decided already, so a failure changes
// nothing for anybody: the account may claim the hash again either way.
func (h *Handler) releaseAfter(ctx context.Context, r Request, hash, urlID string) {
	if err := h.release(ctx, r, hash, urlID); err != nil {
		h.cfg.Logger.WarnContext(ctx, "hash not released, it stays claimed until its account uses it again",
			slog.String("hash", hash), slog.String("url", urlID), slog.Any("error", err))
	}
}
