package commands

import (
	"context"
	"errors"
	"sync"

	"linkledger/commands/domain"
	"linkledger/commands/hashes"
	"linkledger/commands/linkquota"
	"linkledger/commands/linkwrite"
	"linkledger/commands/longurls"
)

// createdLinks has the links that the items of one batch created or found so far, by long URL.
type createdLinks struct {
	mu  sync.Mutex
	ids map[string][]string
}

func (m *createdLinks) add(outcome linkwrite.Outcome) {
	if outcome.Err != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ids == nil {
		m.ids = make(map[string][]string)
	}
	m.ids[outcome.URL.LongURL] = append(m.ids[outcome.URL.LongURL], outcome.URL.ID)
}

func (m *createdLinks) leadingTo(longURL string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ids[longURL]
}

// tryCreateUniqueURL returns the account's link to the long URL, or creates one. If the item has a
// custom hash, it creates a link if the hash is free. Otherwise it returns the link with the hash
// if that link leads to the same long URL.
func (h *Handler) tryCreateUniqueURL(
	ctx context.Context, r domain.Request, item CreateURL, tags domain.Tags,
	reservation *linkquota.Reservation,
) (linkwrite.Outcome, error) {
	load := h.streams.LoadToAppend // the stream is new, unless the command is a repeat
	if r.Repeated {
		load = h.streams.Load
	}
	// All attempts use the same id, because the first attempt claims the long URL for that id.
	link, earlier, err := h.derivedURL(ctx, r, item.CustomHash, load)
	if err != nil || earlier.URL.ID != "" {
		return earlier, err
	}
	if item.CustomHash != "" {
		created, err := h.create(ctx, r, link, item, tags, reservation)
		if errors.Is(err, hashes.ErrTaken) {
			found, err := h.longURLs.Under(ctx, r, item.CustomHash, item.LongURL)
			return outcomeOf(found), err
		}
		if linkquota.IsRefused(err) || err != nil && hashes.Reserved(item.CustomHash) {
			if found, missing := h.longURLs.Under(
				ctx, r, item.CustomHash, item.LongURL,
			); missing == nil {
				return outcomeOf(found), nil
			}
		}
		return created, err
	}
	found, err := h.longURLs.Claim(ctx, r, link.id, item.LongURL, item.Known, func() error {
		_, err := reservation.Take(ctx, link.id, h.streams.Now())
		return err
	})
	if err != nil || found.URL.ID != "" {
		return outcomeOf(found), err
	}
	return h.create(ctx, r, link, item, tags, reservation)
}

func outcomeOf(found longurls.Found) linkwrite.Outcome {
	return linkwrite.Outcome{URL: found.URL, Position: found.Position}
}
