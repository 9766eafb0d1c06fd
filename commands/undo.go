package commands

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"linkledger/events"
	"linkledger/events/eventstore"
)

// UndoBatch undoes what one call changed of the links with these ids, each for itself and concurrently: links that it
// created are deleted, those that it deleted live again under their hashes, fields and tags get the values from before,
// and the clicks from before a stats reset count again. A link of which something was changed since, by another call, is
// left as it is and refused with URLChanged and the fields; what is as it was before the batch makes no event, so undoing
// may be repeated. It also refuses as DeleteURLs and RestoreURL do.
func (h *Handler) UndoBatch(ctx context.Context, r Request, batch string, ids []string) []URLOutcome {
	refs := make([]Ref, len(ids))
	for i, id := range ids {
		refs[i].ID = id
	}
	return h.eachURL(r, refs, func(r Request, ref Ref) (URLOutcome, error) { return h.tryUndo(ctx, r, ref.ID, batch) })
}

func (h *Handler) tryUndo(ctx context.Context, r Request, id, batch string) (URLOutcome, error) {
	loaded, err := h.load(ctx, events.StreamURL+id)
	if err != nil {
		return URLOutcome{}, err
	}
	effect, err := effectOf(ctx, loaded, batch)
	if err != nil {
		return URLOutcome{}, err
	}
	url := effect.url
	if r.Operator {
		r.Account = url.Account
	}
	if url.ID == "" || url.Account != r.Account {
		return URLOutcome{}, refuse(URLNotFound, "There is no URL with the id %q", id)
	}
	if loaded.holds(r.Command, events.StreamURL+id) {
		return URLOutcome{URL: url, Position: loaded.position()}, nil
	}
	outcome, err := h.undo(ctx, r, loaded, effect)
	if err != nil {
		outcome.URL = url // which could not be undone
	}
	return outcome, err
}

func (h *Handler) undo(ctx context.Context, r Request, loaded history, effect batchEffect) (URLOutcome, error) {
	url := effect.url
	was, resets, err := effect.undo()
	switch {
	case err != nil:
		return URLOutcome{}, err
	case was.Deleted && url.Deleted:
		return URLOutcome{URL: url, Position: loaded.position()}, nil
	case was.Deleted:
		deletion, err := url.delete(h.now())
		if err != nil {
			return URLOutcome{}, err
		}
		return h.commit(ctx, r, url, loaded, deletion)
	}
	restored := make([]events.Event, len(resets))
	for i, reset := range resets {
		restored[i] = events.URLStatsRestored{Reset: uint64(reset), At: h.now()} //nolint:gosec // the revision of a stored event is not negative
	}
	return h.bringBack(ctx, r, url, loaded, was, restored...)
}

// The fields of a link that are no fields of its record's settings.
const (
	fieldGone  = "deleted" // or not created yet
	fieldStats = "stats"
	fieldTag   = "tags " // and the tag's id
)

// batchEffect is a link, and what of it a batch has changed.
type batchEffect struct {
	url    URL
	before map[string]any  // by field: what the batch changed, and the value before; nil: there was none
	since  map[string]bool // fields that others have changed after it
	tags   []string        // before it
	resets []statsReset    // of the stats, those that were not undone
	final  bool            // the batch undid a reset, which can't be redone: clicks that came since would go too
}

type statsReset struct {
	revision eventstore.Revision
	inBatch  bool
}

// effectOf folds a link's stream.
func effectOf(ctx context.Context, loaded history, batch string) (batchEffect, error) {
	effect := batchEffect{before: make(map[string]any), since: make(map[string]bool)}
	for i, r := range loaded.recorded {
		if err := ctx.Err(); err != nil {
			return batchEffect{}, err
		}
		var metadata events.Metadata
		if len(r.Metadata) > 0 {
			if err := json.Unmarshal(r.Metadata, &metadata); err != nil {
				return batchEffect{}, fmt.Errorf("metadata of event %d of %s: %w", r.Revision, r.Stream, err)
			}
		}
		effect.evolve(loaded.events[i], r.Revision, metadata.BatchID == batch)
	}
	return effect, nil
}

func (b *batchEffect) evolve(e events.Event, at eventstore.Revision, inBatch bool) {
	if inBatch && len(b.before) == 0 {
		b.tags = slices.Clone(b.url.Tags)
	}
	for field, before := range b.url.changedBy(e) {
		if !inBatch {
			b.since[field] = true
			continue
		}
		if _, known := b.before[field]; !known || b.since[field] {
			b.before[field] = before
		}
		delete(b.since, field)
	}
	switch e := e.(type) {
	case events.URLCreated, events.URLRestored:
		if inBatch {
			clear(b.since) // what was before it is no change of what came by it
		}
	case events.URLStatsReset:
		b.resets = append(b.resets, statsReset{at, inBatch})
	case events.URLStatsRestored:
		b.resets = slices.DeleteFunc(b.resets, func(r statsReset) bool { return r.revision == revision(e.Reset) })
		b.final = b.final || inBatch
	}
}

// undo decides what the link was like, as far as the batch has changed it, and which resets of its stats are to be
// undone, the last one first. It refuses with URLChanged.
func (b *batchEffect) undo() (was URL, resets []eventstore.Revision, err error) {
	was = b.url.clone()
	if gone, ok := b.before[fieldGone]; ok && gone == true {
		if !b.url.Deleted {
			was.Deleted = true
			return was, nil, changedSince(slices.Collect(maps.Keys(b.since)))
		}
		return was, nil, nil
	}
	if b.final {
		return was, nil, &Error{
			Kind: URLChanged, Fields: []string{fieldStats},
			Details: "Nothing of this URL was undone: clicks that count again can't be taken back, reset the stats instead",
		}
	}
	resets, conflicts := b.lastResets()
	now := fieldsOf(b.url)
	undone := len(resets) > 0
	for _, field := range slices.Sorted(maps.Keys(b.before)) {
		switch {
		case now[field] == b.before[field]:
			continue
		case b.since[field]:
			conflicts = append(conflicts, field)
		}
		was.setField(field, b.before[field])
		undone = true
	}
	switch {
	case !undone:
	case slices.Equal(slices.Sorted(slices.Values(was.Tags)), slices.Sorted(slices.Values(b.tags))):
		was.Tags = b.tags // in their order, and however many they were
	case len(was.Tags) > max(maxLinkTags, len(b.url.Tags)):
		conflicts = append(conflicts, "tags") // others have come, and there is no room for all
	}
	if was.Deleted && undone {
		conflicts = append(conflicts, fieldGone)
	}
	return was, resets, changedSince(conflicts)
}

// lastResets returns the batch's resets of the stats. Only the last one can be undone, and then the one before it.
func (b *batchEffect) lastResets() (resets []eventstore.Revision, conflicts []string) {
	last := true
	for _, reset := range slices.Backward(b.resets) {
		switch {
		case !reset.inBatch:
			last = false
		case last:
			resets = append(resets, reset.revision)
		default:
			return nil, []string{fieldStats}
		}
	}
	return resets, nil
}

// changedSince refuses to undo because of fields.
func changedSince(fields []string) error {
	if len(fields) == 0 {
		return nil
	}
	for i, field := range fields {
		if strings.HasPrefix(field, fieldTag) {
			fields[i] = "tags"
		}
	}
	slices.Sort(fields)
	fields = slices.Compact(fields)
	return &Error{
		Kind: URLChanged, Fields: fields,
		Details: "Nothing of this URL was undone, because it was changed since: " + strings.Join(fields, ", "),
	}
}

// fieldsOf are all values of a link that a batch can change. A tag is a field of its own, that is there or not.
func fieldsOf(u URL) map[string]any {
	fields := make(map[string]any)
	for _, f := range plainFields(u) {
		fields[f.name] = f.value
	}
	for _, id := range u.Tags {
		fields[fieldTag+id] = true
	}
	return fields
}

type field struct {
	name  string
	value any
}

// plainFields are all fields but the tags.
func plainFields(u URL) [10]field {
	return [...]field{
		{fieldGone, !u.Live()},
		{"hash", u.Hash},
		{"long_url", u.LongURL},
		{"note", u.note()},
		{"email_stats", u.EmailStats},
		{"ping", u.Ping},
		{"protected", u.Protected},
		{"archived", u.Archived},
		{"expiration_date", u.ExpirationDate},
		{"max_clicks", u.MaxClicks},
	}
}

// changedBy folds an event, and returns the fields that it changed with their values before; nil: it was not there. What that
// costs does not depend on how many tags the link has, but where it loses some.
func (u *URL) changedBy(e events.Event) map[string]any {
	before, tags := plainFields(*u), len(u.Tags)
	var changed map[string]any
	change := func(name string, value any) {
		if changed == nil {
			changed = make(map[string]any)
		}
		changed[name] = value
	}
	if e, ok := e.(events.URLUntagged); ok {
		_, detached := u.retagging(urlChange{detach: e.Tags})
		for _, id := range detached {
			change(fieldTag+id, true)
		}
	}
	u.evolve(e)
	for _, id := range u.Tags[min(tags, len(u.Tags)):] { // new ones come last
		change(fieldTag+id, nil)
	}
	for i, after := range plainFields(*u) {
		if before[i].value != after.value {
			change(after.name, before[i].value)
		}
	}
	return changed
}

// setField gives a field a value that fieldsOf had for it.
func (u *URL) setField(field string, value any) {
	switch field {
	case fieldGone:
		u.Deleted, _ = value.(bool)
	case "hash":
		u.Hash, _ = value.(string)
	case "long_url":
		u.LongURL, _ = value.(string)
	case "note":
		was, _ := value.(note)
		u.Note, u.erased = was.text, was.erased
	case "email_stats":
		u.EmailStats, _ = value.(bool)
	case "ping":
		u.Ping, _ = value.(bool)
	case "protected":
		u.Protected, _ = value.(bool)
	case "archived":
		u.Archived, _ = value.(bool)
	case "expiration_date":
		u.ExpirationDate, _ = value.(string)
	case "max_clicks":
		u.MaxClicks, _ = value.(int64)
	default:
		id := strings.TrimPrefix(field, fieldTag)
		u.Tags = slices.DeleteFunc(u.Tags, func(tag string) bool { return tag == id })
		if value == true {
			u.Tags = append(u.Tags, id)
		}
	}
}
