package commands

import (
	"context"

	"linkledger/commands/domain"
	"linkledger/commands/linkwrite"
	"linkledger/events"
)

// FindURL returns the link of the account that has a hash, as the log has it, if the caller sees
// it. It changes nothing. It refuses with URLNotFound and InvalidHash.
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
