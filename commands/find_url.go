package commands

import (
	"context"

	"linkledger/commands/domain"
	"linkledger/commands/linkwrite"
	"linkledger/events"
)

// FindURL returns the account's link with a hash, as the log has it. It refuses with InvalidHash,
// and with URLNotFound if there is no such link or the caller does not see it.
func (h *Handler) FindURL(
	ctx context.Context, r domain.Request, hash string,
) (linkwrite.Outcome, error) {
	url, loaded, err := h.links.Attempt(r).UnderHash(ctx, linkwrite.Whole, hash)
	if err != nil {
		return linkwrite.Outcome{}, err
	}
	tags, err := h.streams.LoadReadable(ctx, events.StreamTags+r.Account)
	if err != nil {
		return linkwrite.Outcome{}, err
	}
	return linkwrite.Outcome{
		URL: url, Labels: domain.FoldTags(tags.Events).Labels(url.Tags),
		Position: loaded.Position(),
	}, nil
}
