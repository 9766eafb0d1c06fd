package linkwrite

// The bound of a caller is a tag expression: the caller sees only links that match it.

import (
	"context"
	"slices"

	"linkledger/commands/domain"
	"linkledger/events"
	"linkledger/events/eventstore/eventlog"
)

// Sees reports whether a link matches the bound of the caller. If the bound excludes a label that
// no tag has, it matches nothing: the tag may have been renamed, and its links must stay hidden. A
// bound also matches nothing if the tags of the account cannot be decoded.
func (a *Attempt) Sees(ctx context.Context, u domain.Link) (bool, error) {
	bound := a.request.Bound
	if bound == nil {
		return true, nil
	}
	if err := a.readTags(ctx); err != nil || a.unknown {
		return false, err
	}
	return !a.tags.Lacks(bound.Excluded()) && u.Matches(bound, func(label string) bool {
		tag, ok := a.tags.ByLabel(label)
		return ok && slices.Contains(u.Tags, tag.ID)
	}), nil
}

// readTags reads the tags of the account, unless the attempt has read them.
func (a *Attempt) readTags(ctx context.Context) error {
	if a.tagsRead {
		return nil
	}
	loaded, err := a.links.streams.Load(ctx, events.StreamTags+a.request.Account)
	a.unknown = eventlog.IsUndecoded(err)
	if err != nil && !a.unknown {
		return err
	}
	a.tags, a.tagsRead = domain.FoldTags(loaded.Events), true
	return nil
}

// StaysWithin refuses a change after which a link would not match the bound of the caller.
func (a *Attempt) StaysWithin(
	ctx context.Context, u domain.Link, change func() []events.Event,
) error {
	if a.request.Bound == nil {
		return nil
	}
	after := u.Clone()
	for _, e := range change() {
		after.Apply(e)
	}
	if within, err := a.Sees(ctx, after); err != nil || within {
		return err
	}
	return domain.ErrLeavesBound
}
