package commands

import (
	"context"

	"linkledger/commands/domain"
	"linkledger/events"
)

// withinTagBound refuses a change that attaches tags and leaves the link with more than it may
// have. Tags that the account has deleted since still stand in the link's stream: where they take
// the room, the change detaches them. tags are those of the account a moment ago.
func (h *Handler) withinTagBound(
	ctx context.Context, u domain.Link, c domain.LinkChange, tags domain.Tags,
) (domain.LinkChange, error) {
	attach, detach := u.Retagging(c)
	if len(attach) == 0 || len(u.Tags)+len(attach)-len(detach) <= domain.MaxLinkTags {
		return c, nil
	}
	// and perhaps some that have come since
	if _, least := u.WithoutDeleted(c, tags); least > domain.MaxLinkTags {
		return domain.LinkChange{}, domain.ErrTooManyTags(least)
	}
	// What the link has was created before the link was loaded, so what is not among the tags now
	// was deleted.
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
