package commands

import (
	"context"
	"slices"

	"linkledger/events"
)

// linkFold folds the events of a link and of its tags, in the order of the log, and finds what each of them changed of the
// link's record. An event costs the same however many tags there are, unless its change of them is to be told: that takes
// both lists.
type linkFold struct {
	url   URL
	on    map[string]bool // ids of the link's tags
	tags  Tags            // of those that the link ever had
	shown []string        // labels of the link's tags; nil: they have changed since
}

func newLinkFold() *linkFold { return &linkFold{on: make(map[string]bool)} }

// next folds an event. It returns whether the event changed the record, and, if that is to be told, what.
func (f *linkFold) next(e events.Event, tell bool) (changed bool, changes []FieldChange) {
	var labels []string
	if tell && f.touches(e) {
		labels = f.tagLabels()
	}
	before := snapshotOf(f.url)
	retagged := f.evolve(e)
	if retagged {
		f.shown = nil
	}
	after := snapshotOf(f.url)
	if before == after && !retagged {
		return false, nil
	}
	if tell {
		changes = before.changes(after, func(d *difference) {
			if retagged {
				d.add("tags", labels, f.tagLabels())
			}
		})
	}
	return true, changes
}

// touches tells whether an event may change the labels that the link shows.
func (f *linkFold) touches(e events.Event) bool {
	switch e.(type) {
	case events.URLCreated, events.URLTagged, events.URLUntagged:
		return true
	}
	return f.on[tagOf(e)]
}

// evolve tells whether the labels that the link shows have changed.
func (f *linkFold) evolve(e events.Event) (retagged bool) {
	if id := tagOf(e); id != "" {
		was, lived := f.tags.byID[id]
		f.tags.evolve(e)
		is, lives := f.tags.byID[id]
		return f.on[id] && (was != is || lived != lives)
	}
	f.url.evolve(e)
	lives := func(id string) bool { _, lives := f.tags.byID[id]; return lives }
	switch e := e.(type) {
	case events.URLCreated:
		f.on = setOf(e.Tags)
		return slices.ContainsFunc(e.Tags, lives)
	case events.URLTagged:
		for _, id := range e.Tags {
			f.on[id] = true
		}
		return slices.ContainsFunc(e.Tags, lives)
	case events.URLUntagged:
		for _, id := range e.Tags {
			retagged = retagged || f.on[id] && lives(id)
			delete(f.on, id)
		}
	}
	return retagged
}

// tagLabels returns the labels of the link's tags, in a list that does not change any more.
func (f *linkFold) tagLabels() []string {
	if f.shown == nil {
		f.shown = f.tags.Labels(f.url.Tags)
	}
	return f.shown
}

// linkEntries folds the events of a link and of its tags. What happened to a tag has an entry where it changed the link's
// record. tell says of which entries more is wanted than their place.
func linkEntries(ctx context.Context, link string, all []stored, reader string, tell func(entryPlace) bool) (LinkLife, []entryPlace, []HistoryEntry, error) {
	var (
		life    LinkLife
		places  []entryPlace
		entries []HistoryEntry
	)
	fold := newLinkFold()
	for _, s := range all {
		if err := ctx.Err(); err != nil {
			return LinkLife{}, nil, nil, err
		}
		place := entryPlace{s.Position, link}
		wanted := tell(place)
		changed, changes := fold.next(s.event, wanted)
		life.evolve(s.event)
		if s.Stream != events.StreamURL+link && !changed {
			continue
		}
		places = append(places, place)
		if !wanted {
			continue
		}
		entry, err := s.entry(link, reader, changes)
		if err != nil {
			return LinkLife{}, nil, nil, err
		}
		entries = append(entries, entry)
	}
	return life, places, entries, nil
}
