package commands

import (
	"context"
	"errors"
	"slices"

	"linkledger/commands/domain"
	"linkledger/events"
	"linkledger/events/eventstore"
)

// maxRestorable bounds how many links are looked at that lived under the hash of a link to restore: the last ones.
const maxRestorable = 100

// RestoreURL names a link by the hash that it lives under, or lived under when it was deleted.
type RestoreURL struct {
	Hash string
	// Version is a revision of the link's stream: the link becomes as it was right after that event. Nil undoes its
	// deletion.
	Version *int64
}

// RestoreURL brings a link of the account back: its destination, settings, hash and tags, but not its clicks. Tags that
// were deleted since stay deleted. What the link is like already makes no event, so a restoration may be repeated. It
// refuses with URLNotFound, InvalidHash, InvalidValue for a version that there is not or in which the link is deleted,
// HashUnavailable where another link has the hash by now, URLLimitReached where a deleted link has no room, and InvalidURL
// and URLNotAllowed where the destination is no longer allowed.
func (h *Handler) RestoreURL(ctx context.Context, r domain.Request, restore RestoreURL) URLOutcome {
	outcome, err := retry(func() (URLOutcome, error) { return h.tryRestoreURL(ctx, r, restore) })
	if err != nil {
		return URLOutcome{Err: err}
	}
	tags, err := h.load(ctx, events.StreamTags+outcome.URL.Account)
	if err != nil {
		return URLOutcome{Err: err}
	}
	outcome.Labels = domain.FoldTags(tags.events).Labels(outcome.URL.Tags)
	return outcome
}

func (h *Handler) tryRestoreURL(ctx context.Context, r domain.Request, restore RestoreURL) (URLOutcome, error) {
	lives, err := h.livesUnder(ctx, r, restore.Hash)
	if err != nil {
		return URLOutcome{}, err
	}
	loaded := lives[0]
	url := domain.FoldLink(loaded.events)
	if r.Operator {
		r.Account = url.Account
	}
	switch {
	case loaded.holds(r.Command, events.StreamURL+url.ID):
		return URLOutcome{URL: url, Position: loaded.position()}, nil
	case restore.Version == nil && url.Live() && len(lives) > 1 && !loaded.wasRestored():
		return URLOutcome{}, domain.ErrHashGivenAway(url.Hash)
	}
	was, err := loaded.version(restore.Version)
	if err != nil {
		return URLOutcome{}, err
	}
	return h.bringBack(ctx, r, url, loaded, was)
}

// livesUnder loads the links of the account that live under a hash, or lived under it when they were deleted, in the
// reverse order of their last claims.
func (h *Handler) livesUnder(ctx context.Context, r domain.Request, hash string) ([]history, error) {
	if !ValidHash(hash) {
		return nil, domain.Refuse(domain.InvalidHash, "A hash is 1 to 25 of the characters A-Z a-z 0-9 _ -")
	}
	claims, err := h.load(ctx, events.StreamHash+hash)
	if err != nil {
		return nil, err
	}
	links := lastClaimants(claims.stored(), r.Account)
	var lives []history
	for _, link := range slices.Backward(links[max(0, len(links)-maxRestorable):]) {
		loaded, err := h.load(ctx, events.StreamURL+link)
		if err != nil {
			return nil, err
		}
		if url := domain.FoldLink(loaded.events); url.ID != "" && url.Hash == hash {
			lives = append(lives, loaded)
		}
	}
	if len(lives) == 0 {
		return nil, domain.Refuse(domain.URLNotFound, "No URL has the hash %q, or had it when it was deleted", hash)
	}
	return lives, nil
}

func (l history) wasRestored() bool {
	return slices.ContainsFunc(l.events, func(e events.Event) bool { _, ok := e.(events.URLRestored); return ok })
}

// version returns a link as it was right after an event of its stream; nil means the last one, as if it had not deleted
// the link.
func (l history) version(revision *int64) (domain.Link, error) {
	if revision == nil {
		url := domain.FoldLink(l.events)
		url.Deleted = false
		return url, nil
	}
	last := int64(l.revision())
	if *revision < 0 || *revision > last {
		return domain.Link{}, domain.Refuse(domain.InvalidValue, "The URL has the versions 0 to %d, not %d", last, *revision)
	}
	url := domain.FoldLink(l.events[:*revision+1])
	if !url.Live() {
		return domain.Link{}, domain.Refuse(domain.InvalidValue, "In version %d the URL is deleted, choose another one", *revision)
	}
	return url, nil
}

// bringBack makes a link as it was, with further events if there are any.
func (h *Handler) bringBack(ctx context.Context, r domain.Request, url domain.Link, loaded history, was domain.Link, further ...events.Event) (URLOutcome, error) {
	if url.Deleted || was.LongURL != url.LongURL {
		if err := h.cfg.Destinations.Check(was.LongURL, r.ShortHost); err != nil {
			return URLOutcome{}, err
		}
	}
	if r.Operator { // who alone still gets here for an account that was erased
		erased, err := h.isErased(ctx, url.Account)
		if err != nil {
			return URLOutcome{}, err
		}
		if erased { // and nobody gets a note back
			was.Note, was.Erased = url.Note, url.Erased
		}
	}
	at := h.now()
	var room *room
	if url.Deleted {
		room = h.roomToRestore(r)
		defer room.giveBack() // where nothing has come of it
		var err error
		if at, err = room.take(ctx, url.ID, at); err != nil {
			return URLOutcome{}, err
		}
	}
	var claim eventstore.Revision
	if url.Deleted || was.Hash != url.Hash {
		var err error
		claim, err = h.claim(ctx, r, was.Hash, url.ID, url.SpentRevision(was.Hash))
		if errors.Is(err, errHashTaken) {
			return URLOutcome{}, domain.ErrHashGivenAway(was.Hash)
		}
		if err != nil {
			return URLOutcome{}, err
		}
	}
	outcome, err := h.commit(ctx, r, url, loaded, append(url.Restore(was, claim, at), further...))
	if url.Deleted {
		room.used(err)
	}
	return outcome, err
}
