package commands

import (
	"context"

	"linkledger/commands/domain"
	"linkledger/events"
)

// withinTagBound refuses a change that attaches tags if the link would then have more than
// MaxLinkTags. The link's stream still has tags that the account has deleted. If they exceed the
// bound, the returned change detaches them too. tags are recently loaded tags of the account.
func (h *Handler) withinTagBound(
	ctx context.Context, u domain.Link, c domain.LinkChange, tags domain.Tags,
) (domain.LinkChange, error) {
	attach, detach := u.Retagging(c)
	if len(attach) == 0 || len(u.Tags)+len(attach)-len(detach) <= domain.MaxLinkTags {
		return c, nil
	}
	// tags may lack tags that were created since, so this is a lower bound.
	if _, least := u.WithoutDeleted(c, tags); least > domain.MaxLinkTags {
		return domain.LinkChange{}, domain.ErrTooManyTags(least)
	}
	// The tags of the link were created before the link was loaded. A tag that is missing now was
	// deleted.
	loaded, err := h.streams.Load(ctx, events.StreamTags+u.Account)
	if err != nil {
		return domain.LinkChange{}, err
	}
	c, left := u.WithoutDeleted(c, domain.FoldTags(loaded.Events))
	if left > domain.MaxLinkTags {
		return domain.LinkChange{}, domain.ErrTooManyTags(left)
	}
	return c, nil
}
