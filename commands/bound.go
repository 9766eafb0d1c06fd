package commands

import (
	"context"
	"strings"

	"linkledger/commands/domain"
	"linkledger/events"
)

// sees reports whether a link matches the bound of the caller. A bound that excludes the label of
// no tag matches nothing: the tag may have been renamed, and its links are not to be seen. Neither
// does any bound while the tags of the account are unknown.
func (h *Handler) sees(ctx context.Context, r domain.Request, u domain.Link) (bool, error) {
	if r.Bound == nil {
		return true, nil
	}
	tags, err := h.streams.Load(ctx, events.StreamTags+r.Account)
	if undecoded(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	of := domain.FoldTags(tags.Events)
	return !of.Lacks(r.Bound.Excluded()) && u.Matches(r.Bound, of.Labels(u.Tags)), nil
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

// seesNothing reports whether the bound of the caller matches nothing, see sees.
func (h *Handler) seesNothing(ctx context.Context, r domain.Request) (bool, error) {
	if r.Bound == nil || len(r.Bound.Excluded()) == 0 {
		return false, nil
	}
	tags, err := h.streams.Load(ctx, events.StreamTags+r.Account)
	if err != nil {
		return false, err
	}
	return domain.FoldTags(tags.Events).Lacks(r.Bound.Excluded()), nil
}

// createsWithin refuses to create a link outside the bound of the caller.
func (h *Handler) createsWithin(r domain.Request, item CreateURL) error {
	if r.Bound == nil {
		return nil
	}
	labels := make([]string, len(item.Tags))
	for i, label := range item.Tags {
		labels[i] = strings.TrimSpace(label)
	}
	u := domain.Link{CreatedAt: h.streams.Now(), Settings: item.Settings}
	if u.Matches(r.Bound, labels) {
		return nil
	}
	return domain.ErrLeavesBound
}
