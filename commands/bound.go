package commands

import (
	"context"
	"slices"

	"linkledger/commands/domain"
	"linkledger/events"
)

// boundTags returns the tags of the account if the bound of the caller names labels. The bound is a
// tag expression: the caller sees only links that match it. matchesNothing is true if the bound
// excludes a label that no tag has, see linkwrite.Attempt.Sees.
func (h *Handler) boundTags(
	ctx context.Context, r domain.Request,
) (tags domain.Tags, matchesNothing bool, err error) {
	if r.Bound == nil || len(r.Bound.Labels()) == 0 {
		return domain.Tags{}, false, nil
	}
	loaded, err := h.streams.Load(ctx, events.StreamTags+r.Account)
	if err != nil {
		return domain.Tags{}, false, err
	}
	tags = domain.FoldTags(loaded.Events)
	return tags, tags.Lacks(r.Bound.Excluded()), nil
}

// createsWithin returns domain.ErrLeavesBound if the new link would not match the bound of the
// caller. tags are the result of boundTags. A label of the item matches a label of the bound if
// both mean the same tag. If neither label has a tag yet, createsWithin compares the labels.
func (h *Handler) createsWithin(r domain.Request, item CreateURL, tags domain.Tags) error {
	if r.Bound == nil {
		return nil
	}
	has := func(label string) bool {
		bound, exists := tags.ByLabel(label)
		return slices.ContainsFunc(item.Tags, func(own string) bool {
			tag, ok := tags.ByLabel(own)
			if !ok || !exists {
				return ok == exists && domain.PlainLabel(own) == domain.PlainLabel(label)
			}
			return tag.ID == bound.ID
		})
	}
	u := domain.Link{CreatedAt: h.streams.Now(), Settings: item.Settings}
	if u.Matches(r.Bound, has) {
		return nil
	}
	return domain.ErrLeavesBound
}
