package commands

import (
	"context"
	"slices"
	"strings"

	"linkledger/commands/batch"
	"linkledger/commands/domain"
	"linkledger/commands/hashes"
	"linkledger/commands/linkwrite"
	"linkledger/events"
	"linkledger/events/eventstore"
)

// EditURL is a change of a link of the account. Nil fields change nothing.
type EditURL struct {
	linkwrite.Ref
	CustomHash *string // the new hash
	LongURL    *string
	Note       *string
	events.SettingsChange
	Tags []string // "+label" or "label" attaches, "-label" detaches
}

// keys returns the keys of the item for batch.Run. Items share a key if they name the same link or
// want the same hash.
func (e EditURL) keys() []string {
	if e.CustomHash == nil {
		return []string{e.Key()}
	}
	return []string{e.Key(), *e.CustomHash}
}

// EditURLs edits links concurrently. Items that share a hash run in order. An item that fails does
// not affect the others.
func (h *Handler) EditURLs(ctx context.Context, r domain.Request, edits []EditURL) URLsOutcome {
	outcome := URLsOutcome{Items: make([]linkwrite.Outcome, len(edits))}
	attach := make([][]string, len(edits))
	for i, edit := range edits {
		if outcome.Items[i].Err = h.CheckEdit(r, edit); outcome.Items[i].Err == nil {
			attach[i], _ = TagInstructions(edit.Tags)
		}
	}
	tags, refused, position, err := h.tagsToEdit(ctx, r, edits, attach)
	if err != nil {
		return outcome.failed(err)
	}
	outcome.refused(refused)
	outcome.Tags = position
	batch.Run(len(edits), func(i int) []string { return edits[i].keys() }, func(i int) {
		if outcome.Items[i].Err == nil {
			outcome.Items[i] = h.editURL(ctx, r.Item(i), edits[i], tags)
		}
	})
	return outcome
}

// tagsToEdit returns the tags of the account. If an edit changes the tags of a link, tagsToEdit
// also creates the missing tags, and fails if an event of the tags cannot be decoded. Otherwise
// only the answer needs the tags, so events that cannot be decoded are skipped.
func (h *Handler) tagsToEdit(
	ctx context.Context, r domain.Request, edits []EditURL, attach [][]string,
) (domain.Tags, []error, eventstore.Position, error) {
	if slices.ContainsFunc(edits, func(e EditURL) bool { return len(e.Tags) > 0 }) {
		return h.ensureTags(ctx, r, attach)
	}
	loaded, err := h.streams.LoadReadable(ctx, events.StreamTags+r.Account)
	return domain.FoldTags(loaded.Events), nil, loaded.Position(), err
}

// refused sets errs[i] as the error of item i, unless the item has an error.
func (o URLsOutcome) refused(errs []error) {
	for i, err := range errs {
		if o.Items[i].Err == nil {
			o.Items[i].Err = err
		}
	}
}

// failed sets err as the error of all items that have none.
func (o URLsOutcome) failed(err error) URLsOutcome {
	for i := range o.Items {
		if o.Items[i].Err == nil {
			o.Items[i].Err = err
		}
	}
	return o
}

func (h *Handler) editURL(
	ctx context.Context, r domain.Request, edit EditURL, tags domain.Tags,
) linkwrite.Outcome {
	change, err := h.linkChange(r, edit, tags)
	if err != nil {
		return linkwrite.Outcome{Err: err}
	}
	outcome, err := eventstore.Retry(
		func() (linkwrite.Outcome, error) { return h.tryEditURL(ctx, r, edit.Ref, change, tags) },
	)
	if err != nil {
		return linkwrite.Outcome{Err: err}
	}
	outcome.Labels = tags.Labels(outcome.URL.Tags)
	return outcome
}

// CheckEdit refuses an edit that EditURLs refuses whatever the state of the link is.
func (h *Handler) CheckEdit(r domain.Request, edit EditURL) error {
	if edit.CustomHash != nil {
		if err := hashes.CheckCustomHash(*edit.CustomHash); err != nil {
			return err
		}
	}
	if edit.LongURL != nil {
		if err := h.cfg.Destinations.Check(*edit.LongURL, r.ShortHost); err != nil {
			return err
		}
	}
	if err := domain.CheckSettings(edit.SettingsChange); err != nil {
		return err
	}
	attach, _ := TagInstructions(edit.Tags)
	return domain.CheckLabels(attach)
}

// TagInstructions returns the labels that the tags of an edit attach, and the labels that they
// detach.
func TagInstructions(instructions []string) (attach, detach []string) {
	for _, instruction := range instructions {
		instruction = strings.TrimSpace(instruction)
		if label, ok := strings.CutPrefix(instruction, "-"); ok {
			detach = append(detach, label)
			continue
		}
		attach = append(attach, strings.TrimPrefix(instruction, "+"))
	}
	return attach, detach
}

// linkChange returns the change that an edit makes. The account MUST have the tags that the edit
// attaches. If the account lacks a tag to detach, linkChange refuses with TagNotFound. For a caller
// with a bound, linkChange ignores the missing tag instead, so that the caller cannot find out
// which tags other links have.
func (h *Handler) linkChange(
	r domain.Request, edit EditURL, tags domain.Tags,
) (domain.LinkChange, error) {
	change := domain.LinkChange{
		Hash: edit.CustomHash, LongURL: edit.LongURL, Settings: edit.SettingsChange,
	}
	if edit.Note != nil {
		change.Note = new(domain.TrimNote(*edit.Note))
	}
	attach, detach := TagInstructions(edit.Tags)
	change.Attach = tags.IDs(attach)
	for _, label := range detach {
		tag, ok := tags.ByLabel(label)
		switch {
		case ok:
			change.Detach = append(change.Detach, tag.ID)
		case r.Bound == nil:
			return domain.LinkChange{}, domain.Refuse(
				domain.TagNotFound, "There is no tag %q", label,
			)
		}
	}
	return change, nil
}

func (h *Handler) tryEditURL(
	ctx context.Context, r domain.Request, ref linkwrite.Ref, change domain.LinkChange,
	tags domain.Tags,
) (linkwrite.Outcome, error) {
	attempt := h.links.Attempt(r)
	url, loaded, err := attempt.Find(ctx, linkwrite.Whole, ref)
	if err != nil {
		return linkwrite.Outcome{}, err
	}
	if loaded.Has(r.Command, events.LinkStream(url.ID)) {
		return linkwrite.Outcome{URL: url, Position: loaded.Position()}, nil
	}
	if change, err = h.withinTagBound(ctx, url, change, tags); err != nil {
		return linkwrite.Outcome{}, err
	}
	if err := attempt.StaysWithin(ctx, url, func() []events.Event {
		return url.Edit(change, h.streams.Now())
	}); err != nil {
		return linkwrite.Outcome{}, err
	}
	if change.Hash != nil && *change.Hash != url.Hash {
		if err := hashes.CheckNew(*change.Hash); err != nil {
			return linkwrite.Outcome{}, err
		}
		if change.Claim, err = h.hashes.Claim(
			ctx, r, *change.Hash, url.ID, url.SpentRevision(*change.Hash),
		); err != nil {
			return linkwrite.Outcome{}, err
		}
	}
	return attempt.Commit(ctx, url, loaded, url.Edit(change, h.streams.Now()))
}
