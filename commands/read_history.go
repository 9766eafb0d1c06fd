package commands

import (
	"context"
	"slices"

	"linkledger/events"
)

// HistoryOf asks for the history of a hash.
type HistoryOf struct {
	Hash string
	// Account is the id of the account that asks, which learns of its own links alone; empty for an operator, who learns
	// of all.
	Account string
	// MaxLinks bounds how many links are followed: the last ones that claimed the hash. 0: all.
	MaxLinks int
}

// History reads what happened to a hash and to the links that ever lived under it, from their streams. It refuses with
// InvalidHash, and with URLNotFound where the hash was never claimed, or not by the account.
func (h *Handler) History(ctx context.Context, of HistoryOf) (HashHistory, error) {
	if !ValidHash(of.Hash) {
		return HashHistory{}, refuse(InvalidHash, "A hash is 1 to 25 of the characters A-Z a-z 0-9 _ -")
	}
	loaded, err := h.load(ctx, events.StreamHash+of.Hash)
	if err != nil {
		return HashHistory{}, err
	}
	claims := loaded.stored()
	links := claimants(claims, of.Account)
	if len(links) == 0 {
		if of.Account != "" {
			return HashHistory{}, refuse(URLNotFound, "The account never had a URL with the hash %q", of.Hash)
		}
		return HashHistory{}, refuse(URLNotFound, "There never was a URL with the hash %q", of.Hash)
	}
	history := HashHistory{Hash: of.Hash, Links: []LinkLife{}}
	if of.MaxLinks > 0 && len(links) > of.MaxLinks {
		history.MoreLinks = len(links) - of.MaxLinks
		links = links[history.MoreLinks:]
	}
	if history.Entries, err = claimEntries(claims, of.Account); err != nil {
		return HashHistory{}, err
	}
	owners := make(map[string]owner) // by account
	for _, link := range links {
		life, entries, err := h.lifeOf(ctx, link, of.Account, owners)
		if err != nil {
			return HashHistory{}, err
		}
		if life.ID != "" {
			history.Links = append(history.Links, life)
		}
		history.Entries = append(history.Entries, entries...)
	}
	slices.SortStableFunc(history.Entries, func(a, b HistoryEntry) int { return byPosition(a.Position, b.Position) })
	return history, nil
}

// lifeOf reads one link. A claim whose link never came has none. owners keeps the accounts met so far.
func (h *Handler) lifeOf(ctx context.Context, link, reader string, owners map[string]owner) (LinkLife, []HistoryEntry, error) {
	all, err := h.streamsOf(ctx, link, owners)
	if err != nil {
		return LinkLife{}, nil, err
	}
	return linkEntries(link, all, reader)
}

// owner is what the history of a link takes from its account.
type owner struct {
	tags   []stored
	erased bool
}

// streamsOf reads the events of a link and of its account's tags, in the order of the log.
func (h *Handler) streamsOf(ctx context.Context, link string, owners map[string]owner) ([]stored, error) {
	loaded, err := h.load(ctx, events.StreamURL+link)
	if err != nil {
		return nil, err
	}
	account := foldURL(loaded.events).Account
	if account == "" {
		return loaded.stored(), nil
	}
	of, known := owners[account]
	if !known {
		tags, err := h.load(ctx, events.StreamTags+account)
		if err != nil {
			return nil, err
		}
		of.tags = tags.stored()
		if of.erased, err = h.isErased(ctx, account); err != nil {
			return nil, err
		}
		owners[account] = of
	}
	all := loaded.stored()
	if of.erased {
		all = withoutNotes(all)
	}
	all = slices.Concat(all, of.tags)
	slices.SortStableFunc(all, func(a, b stored) int { return byPosition(a.Position, b.Position) })
	return all, nil
}
