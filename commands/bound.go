package commands

import (
	"context"
	"slices"

	"linkledger/commands/domain"
	"linkledger/events"
	"linkledger/events/eventstore/eventlog"
)

// sees reports whether a link matches the bound of the caller. A bound that excludes the label of
// no tag matches nothing: the tag may have been renamed, and its links are not to be seen. Neither
// does any bound while the tags of the account are unknown.
func (h *Handler) sees(ctx context.Context, r domain.Request, u domain.Link) (bool, error) {
	if r.Bound == nil {
		return true, nil
	}
	tags, err := h.streams.Load(ctx, events.StreamTags+r.Account)
	if eventlog.IsUndecoded(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	of := domain.FoldTags(tags.Events)
	return !of.Lacks(r.Bound.Excluded()) && u.Matches(r.Bound, func(label string) bool {
		tag, ok := of.ByLabel(label)
		return ok && slices.Contains(u.Tags, tag.ID)
	}), nil
}

// staysWithin refuses a change by which a link would leave the bound of the caller.
func (h *Handler) staysWithin(
	ctx context.Context, r domain.Request, u domain.Link, change func() []events.Event,
) error {
	if r.Bound == nil {
		return nil
	}
	after := u.Clone()
	for _, e := range change() {
		after.Apply(e)
	}
	if within, err := h.sees(ctx, r, after); err != nil || within {
		return err
	}
	return domain.ErrLeavesBound
}

// boundTags returns the tags of the account if the bound of the caller names labels, and whether
// the bound matches nothing, see sees.
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

// createsWithin refuses to create a link outside the bound of the caller. tags are those of
// boundTags: a label of the bound and one of the item may mean the same tag or two of them.
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
