package commands

import (
	"context"

	"linkledger/events"
)

// ResetStats makes the counters of the links that live under hashes of the account start again from zero. It refuses
// with URLNotFound.
func (h *Handler) ResetStats(ctx context.Context, r Request, hashes []string) []URLOutcome {
	return h.eachURL(r, hashes, func(r Request, hash string) (URLOutcome, error) {
		return h.changeURL(ctx, r, hash, func(URL) ([]events.Event, error) {
			return []events.Event{events.URLStatsReset{At: h.now()}}, nil
		})
	})
}
