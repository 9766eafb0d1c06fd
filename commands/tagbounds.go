package commands

import (
	"context"

	"linkledger/commands/domain"
	"linkledger/events"
)

// withinTagBound refuses a change that attaches tags if the link would then have more than
// MaxLinkTags tags. Tags that the account has deleted stay in the stream of the link, but do not
// count. If the link exceeds MaxLinkTags only with deleted tags, the returned change also detaches
// the deleted tags. tags are the tags of the account as loaded shortly before.
func (h *Handler) withinTagBound(
	ctx context.Context, u domain.Link, c domain.LinkChange, tags domain.Tags,
) (domain.LinkChange, error) {
	attach, detach := u.Retagging(c)
	if len(attach) == 0 || len(u.Tags)+len(attach)-len(detach) <= domain.MaxLinkTags {
		return c, nil
	}
	// tags lacks tags that were created after it was loaded. They count as deleted here, so the
	// link would have at least this number of tags.
	if _, least := u.WithoutDeleted(c, tags); least > domain.MaxLinkTags {
		return domain.LinkChange{}, domain.ErrTooManyTags(least)
	}
	// The tags of the link were created before the link was loaded, and the tags of the account are
	// loaded after it. So a tag of the link that the account lacks was deleted.
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
