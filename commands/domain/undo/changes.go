// Package undo decides what an undo does to a link. It finds out what a batch has changed in the
// link, and how the link was before. A batch is the events to undo. The package decides from events
// alone, and appends nothing.
package undo

import (
	"maps"
	"slices"
	"strings"

	"linkledger/commands/domain"
	"linkledger/events"
)

// The fields of a link that are no settings of its record.
const (
	fieldDeleted = "deleted" // or not created yet
	fieldStats   = "stats"
	fieldTag     = "tags " // followed by the id of the tag
)

// Changes is a link, and what a batch has changed in it.
type Changes struct {
	Link domain.Link
	// before has the fields that the batch changed, with their values before the batch; nil: no
	// value.
	before map[string]any
	since  map[string]bool // fields changed after the batch by other calls
	tags   []string        // of the link before the batch
	resets []statsReset    // of the stats, without resets that were undone
	// irreversible is true if the batch undid a reset of the stats. Another reset would also drop
	// the clicks since then.
	irreversible bool
}

type statsReset struct {
	revision events.Revision
	inBatch  bool
}

// New returns the changes of a link before its first event.
func New() *Changes {
	return &Changes{before: make(map[string]any), since: make(map[string]bool)}
}

// Apply folds the event at a revision of the link's stream. inBatch is true if the event
// belongs to the batch.
func (b *Changes) Apply(e events.Event, at events.Revision, inBatch bool) {
	if inBatch && len(b.before) == 0 {
		b.tags = slices.Clone(b.Link.Tags)
	}
	for field, before := range apply(&b.Link, e) {
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
			clear(b.since) // changes before a creation or restoration do not matter
		}
	case events.URLStatsReset:
		b.resets = append(b.resets, statsReset{at, inBatch})
	case events.URLStatsRestored:
		undone := events.Revision(e.Reset) //nolint:gosec // a stored revision is not negative
		b.resets = slices.DeleteFunc(
			b.resets, func(r statsReset) bool { return r.revision == undone },
		)
		b.irreversible = b.irreversible || inBatch
	}
}

// Undo returns the link with the values from before the batch in the fields that the batch changed,
// and the resets of its stats to undo, the last one first. If other calls have changed such fields
// since, Undo refuses with URLChanged. With skipChanged, it leaves these fields as they are
// instead. A creation is undone as a whole or not at all.
func (b *Changes) Undo(skipChanged bool) (was domain.Link, resets []events.Revision, err error) {
	was = b.Link.Clone()
	if gone, ok := b.before[fieldDeleted]; ok && gone == true {
		if !b.Link.Deleted {
			was.Deleted = true
			return was, nil, changedSince(slices.Collect(maps.Keys(b.since)))
		}
		return was, nil, nil
	}
	if b.irreversible {
		return was, nil, &domain.Error{
			Kind: domain.URLChanged, Fields: []string{fieldStats},
			Details: "Nothing of this URL was undone: clicks that count again can't be taken " +
				"back, reset the stats instead",
		}
	}
	resets, conflicts := b.lastResets()
	if skipChanged {
		conflicts = nil
	}
	now := FieldsOf(b.Link)
	undone := len(resets) > 0
	for _, field := range slices.Sorted(maps.Keys(b.before)) {
		switch {
		case now[field] == b.before[field]:
			continue
		case b.since[field] && skipChanged:
			continue
		case b.since[field]:
			conflicts = append(conflicts, field)
		}
		setField(&was, field, b.before[field])
		undone = true
	}
	switch {
	case !undone:
	case slices.Equal(slices.Sorted(slices.Values(was.Tags)), slices.Sorted(slices.Values(b.tags))):
		was.Tags = b.tags // the tags from before the batch, in their order, even if too many
	case len(was.Tags) > max(domain.MaxLinkTags, len(b.Link.Tags)):
		conflicts = append(conflicts, "tags") // with the tags added since, there are too many
	}
	if was.Deleted && undone {
		conflicts = append(conflicts, fieldDeleted)
	}
	return was, resets, changedSince(conflicts)
}

// lastResets returns the batch's resets of the stats. Only the last reset can be undone, and then
// the one before it. If another call has reset the stats after the batch, lastResets returns a
// conflict instead.
func (b *Changes) lastResets() (resets []events.Revision, conflicts []string) {
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

// changedSince returns the refusal to undo because other calls have changed fields since. It
// returns nil if fields is empty.
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
	return &domain.Error{
		Kind: domain.URLChanged, Fields: fields,
		Details: "Nothing of this URL was undone, because it was changed since: " + strings.Join(
			fields, ", ",
		),
	}
}

// FieldsOf returns all values of a link that a batch can change. Each tag is a field of its own,
// with the value true.
func FieldsOf(u domain.Link) map[string]any {
	fields := make(map[string]any)
	for _, f := range plainFields(u) {
		fields[f.name] = f.value
	}
	for _, id := range u.Tags {
		fields[fieldTag+id] = true
	}
	return fields
}

type linkField struct {
	name  string
	value any
}

// plainFields returns all fields but the tags.
func plainFields(u domain.Link) []linkField {
	fields := append(make([]linkField, 0, 4+len(events.AllSettings)),
		linkField{fieldDeleted, !u.Live()}, linkField{"hash", u.Hash},
		linkField{"long_url", u.LongURL}, linkField{"note", u.NoteValue()})
	for _, s := range events.AllSettings {
		fields = append(fields, linkField{s.Name, s.Get(&u.Settings)})
	}
	return fields
}

// apply folds an event and returns the fields that it changed, with their values before; nil: no
// value. Its cost depends on the number of tags only if the link loses some.
func apply(u *domain.Link, e events.Event) map[string]any {
	before, tags := plainFields(*u), len(u.Tags)
	var changed map[string]any
	change := func(name string, value any) {
		if changed == nil {
			changed = make(map[string]any)
		}
		changed[name] = value
	}
	if e, ok := e.(events.URLUntagged); ok {
		_, detached := u.Retagging(domain.LinkChange{Detach: e.Tags})
		for _, id := range detached {
			change(fieldTag+id, true)
		}
	}
	u.Apply(e)
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

// setField sets a field to a value that FieldsOf returned for it.
func setField(u *domain.Link, field string, value any) {
	switch field {
	case fieldDeleted:
		u.Deleted, _ = value.(bool)
	case "hash":
		u.Hash, _ = value.(string)
	case "long_url":
		u.LongURL, _ = value.(string)
	case "note":
		was, _ := value.(domain.Note)
		u.Note, u.Erased = was.Text, was.Erased
	default:
		for _, s := range events.AllSettings {
			if s.Name == field {
				s.Set(&u.Settings, value)
				return
			}
		}
		id := strings.TrimPrefix(field, fieldTag)
		u.Tags = slices.DeleteFunc(u.Tags, func(tag string) bool { return tag == id })
		if value == true {
			u.Tags = append(u.Tags, id)
		}
	}
}
