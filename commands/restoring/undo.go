package restoring

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"linkledger/commands/domain"
	"linkledger/commands/domain/undo"
	"linkledger/commands/linkwrite"
	"linkledger/commands/streams"
	"linkledger/events"
	"linkledger/events/eventstore/eventlog"
)

// Undo takes back changes of the links with these ids, concurrently: the changes of one call, or of
// one API key since a time, as r.Undoes says. Created links are deleted. Deleted links are restored
// under their hashes. Fields and tags get their earlier values, and the clicks before a stats reset
// count again.
//
// Undo refuses a link with URLChanged and the names of the fields if other calls have changed these
// fields since, unless r.Undoes skips them. A field that already has its earlier value needs no
// event, so Undo may be repeated. It also refuses as commands.Handler.DeleteURLs and RestoreURL do.
func (s *Restorer) Undo(ctx context.Context, r domain.Request, ids []string) []linkwrite.Outcome {
	refs := make([]linkwrite.Ref, len(ids))
	for i, id := range ids {
		refs[i].ID = id
	}
	return linkwrite.Each(
		r, refs,
		func(r domain.Request, ref linkwrite.Ref) (linkwrite.Outcome, error) {
			return s.tryUndo(ctx, r, ref.ID)
		},
	)
}

func (s *Restorer) tryUndo(
	ctx context.Context, r domain.Request, id string,
) (linkwrite.Outcome, error) {
	loaded, err := s.cfg.Streams.Load(ctx, events.LinkStream(id))
	if err != nil && !eventlog.IsUndecoded(err) {
		return linkwrite.Outcome{}, err
	}
	url := domain.FoldLink(loaded.Events)
	if r.Operator {
		r.Account = url.Account
	}
	missing := domain.Refuse(domain.URLNotFound, "There is no URL with the id %q", id)
	if url.ID == "" || url.Account != r.Account || err != nil && r.Bound != nil {
		return linkwrite.Outcome{}, missing
	}
	var changes *undo.Changes
	if err == nil {
		changes, err = changesToUndo(ctx, loaded, r.Undoes)
	}
	if err != nil {
		return linkwrite.Outcome{URL: url}, err // callers name the link in the error
	}
	attempt := s.cfg.Links.Attempt(r)
	if sees, err := attempt.Sees(ctx, url); err != nil || !sees {
		return linkwrite.Outcome{}, cmp.Or(err, missing)
	}
	if loaded.Has(r.Command, events.LinkStream(id)) {
		return linkwrite.Outcome{URL: url, Position: loaded.Position()}, nil
	}
	outcome, err := s.undo(ctx, r, attempt, loaded, changes)
	if err != nil {
		outcome.URL = url // callers name the link in the error
	}
	return outcome, err
}

func (s *Restorer) undo(
	ctx context.Context, r domain.Request, attempt *linkwrite.Attempt, loaded streams.History,
	changes *undo.Changes,
) (linkwrite.Outcome, error) {
	url := changes.Link
	was, resets, err := changes.Undo(r.Undoes.SkipChanged)
	switch {
	case err != nil:
		return linkwrite.Outcome{}, err
	case was.Deleted && url.Deleted:
		return linkwrite.Outcome{URL: url, Position: loaded.Position()}, nil
	case was.Deleted:
		deletion, err := url.Delete(s.cfg.Streams.Now())
		if err != nil {
			return linkwrite.Outcome{}, err
		}
		return attempt.Commit(ctx, url, loaded, deletion)
	}
	restored := make([]events.Event, len(resets))
	for i, reset := range resets {
		//nolint:gosec // the revision of a stored event is not negative
		restored[i] = events.URLStatsRestored{Reset: uint64(reset), At: s.cfg.Streams.Now()}
	}
	return s.restoreTo(ctx, r, attempt, url, loaded, was, restored...)
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
