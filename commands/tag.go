package commands

import (
	"cmp"
	"context"

	"linkledger/commands/accounts"
	"linkledger/commands/domain"
	"linkledger/events"
	"linkledger/events/eventstore"
)

// TagOutcome is a tag after a command, and the position of the last event of the account's tags.
type TagOutcome struct {
	Tag      domain.Tag
	Position eventstore.Position
}

// CreateTag creates a tag, or returns the tag that has the label. It refuses with InvalidLabel.
func (h *Handler) CreateTag(
	ctx context.Context, r domain.Request, label string,
) (TagOutcome, error) {
	tags, refused, position, err := h.ensureTags(ctx, r, [][]string{{label}})
	if err := cmp.Or(err, refused[0]); err != nil {
		return TagOutcome{}, err
	}
	tag, _ := tags.ByLabel(label)
	return TagOutcome{Tag: tag, Position: position}, nil
}

// RenameTag gives a tag another label. It refuses with TagNotFound and InvalidLabel, and with
// AccessDenied if the bound of an API key excludes the tag.
func (h *Handler) RenameTag(
	ctx context.Context, r domain.Request, label, to string,
) (TagOutcome, error) {
	tags, position, err := h.changeTags(
		ctx, r,
		func(t domain.Tags) ([]events.Event, error) {
			renamed, err := t.Rename(label, to, h.streams.Now())
			if err != nil || domain.PlainLabel(label) == domain.PlainLabel(to) {
				return renamed, err
			}
			return renamed, h.mayLose(ctx, r, label)
		},
	)
	if err != nil {
		return TagOutcome{}, err
	}
	tag, _ := tags.ByLabel(to)
	return TagOutcome{Tag: tag, Position: position}, nil
}

// DeleteTag deletes a tag of the account, and so removes the tag from all links. It refuses with
// TagNotFound, and with AccessDenied if the bound of an API key excludes the tag.
func (h *Handler) DeleteTag(
	ctx context.Context, r domain.Request, label string,
) (eventstore.Position, error) {
	_, position, err := h.changeTags(
		ctx, r,
		func(t domain.Tags) ([]events.Event, error) {
			deleted, err := t.Delete(label, h.streams.Now())
			if err != nil {
				return nil, err
			}
			return deleted, h.mayLose(ctx, r, label)
		},
	)
	return position, err
}

// mayLose refuses to rename or delete the tag with a label if the bound of a working API key
// excludes the label.
func (h *Handler) mayLose(ctx context.Context, r domain.Request, label string) error {
	account, err := accounts.Load(ctx, h.streams, r.Account)
	if err != nil {
		return err
	}
	return account.MayLose(r, label)
}

// ensureTags creates the missing tags of a batch. items[i] are the labels of item i. If a label is
// invalid, or the link or the account would have too many tags, the item is refused: its error is
// at index i, and none of its tags is created.
func (h *Handler) ensureTags(
	ctx context.Context, r domain.Request, items [][]string,
) (domain.Tags, []error, eventstore.Position, error) {
	refused := make([]error, len(items))
	tags, position, err := h.changeTags(ctx, r, func(
		t domain.Tags,
	) (created []events.Event, err error) {
		created, refused = t.Create(r.Account, items, r.Command, h.streams.Now())
		return created, nil
	})
	return tags, refused, position, err
}

// changeTags appends the events that decide returns, and returns the tags after them. If the
// command has run before, changeTags appends nothing.
func (h *Handler) changeTags(
	ctx context.Context, r domain.Request, decide func(domain.Tags) ([]events.Event, error),
) (domain.Tags, eventstore.Position, error) {
	stream := events.StreamTags + r.Account
	var position eventstore.Position
	tags, err := eventstore.Retry(func() (domain.Tags, error) {
		loaded, err := h.streams.Load(ctx, stream)
		if err != nil {
			return domain.Tags{}, err
		}
		tags := domain.FoldTags(loaded.Events)
		position = loaded.Position()
		changes, err := decide(tags)
		if loaded.Has(r.Command, stream) {
			return tags, nil
		}
		if err != nil || len(changes) == 0 {
			return tags, err
		}
		appended, err := h.streams.Append(ctx, r, stream, loaded.Revision(), changes...)
		position = appended.Position
		for _, e := range changes {
			tags.Apply(e)
		}
		return tags, err
	})
	return tags, position, err
}
