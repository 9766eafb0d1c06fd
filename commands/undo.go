package commands

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"linkledger/commands/domain"
	"linkledger/commands/domain/undo"
	"linkledger/commands/streams"
	"linkledger/events"
	"linkledger/events/eventstore/eventlog"
)

// Undo takes back changes of the links with these ids, concurrently: those of one call, or of one
// API key since a time, as r.Undoes says. Links that were created are deleted. Links that were
// deleted are restored under their hashes. Fields and tags get their values from before, and the
// clicks from before a stats reset count again.
//
// A link is refused with URLChanged and the names of the fields if others have changed them since,
// unless r.Undoes skips these fields.
// A field that already has its value from before needs no event, so Undo may be repeated. It also
// refuses as DeleteURLs and RestoreURL do.
func (h *Handler) Undo(ctx context.Context, r domain.Request, ids []string) []URLOutcome {
	refs := make([]Ref, len(ids))
	for i, id := range ids {
		refs[i].ID = id
	}
	return h.eachURL(
		r, refs,
		func(r domain.Request, ref Ref) (URLOutcome, error) {
			return h.tryUndo(ctx, r, ref.ID)
		},
	)
}

func (h *Handler) tryUndo(
	ctx context.Context, r domain.Request, id string,
) (URLOutcome, error) {
	loaded, err := h.streams.Load(ctx, events.LinkStream(id))
	if err != nil && !eventlog.IsUndecoded(err) {
		return URLOutcome{}, err
	}
	url := domain.FoldLink(loaded.Events)
	if r.Operator {
		r.Account = url.Account
	}
	missing := domain.Refuse(domain.URLNotFound, "There is no URL with the id %q", id)
	if url.ID == "" || url.Account != r.Account || err != nil && r.Bound != nil {
		return URLOutcome{}, missing
	}
	var changes *undo.Changes
	if err == nil {
		changes, err = changesToUndo(ctx, loaded, r.Undoes)
	}
	if err != nil {
		return URLOutcome{URL: url}, err // callers name the link in the error
	}
	if sees, err := h.sees(ctx, r, url); err != nil || !sees {
		return URLOutcome{}, cmp.Or(err, missing)
	}
	if loaded.Has(r.Command, events.LinkStream(id)) {
		return URLOutcome{URL: url, Position: loaded.Position()}, nil
	}
	outcome, err := h.undo(ctx, r, loaded, changes)
	if err != nil {
		outcome.URL = url // callers name the link in the error
	}
	return outcome, err
}

func (h *Handler) undo(
	ctx context.Context, r domain.Request, loaded streams.History, changes *undo.Changes,
) (URLOutcome, error) {
	url := changes.Link
	was, resets, err := changes.Undo(r.Undoes.SkipChanged)
	switch {
	case err != nil:
		return URLOutcome{}, err
	case was.Deleted && url.Deleted:
		return URLOutcome{URL: url, Position: loaded.Position()}, nil
	case was.Deleted:
		deletion, err := url.Delete(h.streams.Now())
		if err != nil {
			return URLOutcome{}, err
		}
		return h.commit(ctx, r, url, loaded, deletion)
	}
	restored := make([]events.Event, len(resets))
	for i, reset := range resets {
		//nolint:gosec // the revision of a stored event is not negative
		restored[i] = events.URLStatsRestored{Reset: uint64(reset), At: h.streams.Now()}
	}
	return h.restoreTo(ctx, r, url, loaded, was, restored...)
}

// changesToUndo folds a link's stream into the changes to undo.
func changesToUndo(
	ctx context.Context, loaded streams.History, undone domain.Undone,
) (*undo.Changes, error) {
	changes := undo.New()
	for i, r := range loaded.Recorded {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var metadata events.Metadata
		if len(r.Metadata) > 0 {
			if err := json.Unmarshal(r.Metadata, &metadata); err != nil {
				return nil, r.Undecoded(fmt.Errorf("metadata: %w", err))
			}
		}
		changes.Apply(loaded.Events[i], r.Revision, undone.Includes(metadata, r.Time))
	}
	return changes, nil
}
