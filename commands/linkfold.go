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
	url    URL
	on     map[string]bool   // ids of the link's tags
	labels map[string]string // by id, of the tags that the account has
	shown  []string          // labels of the link's tags; nil: they have changed since
}

func newLinkFold() *linkFold {
	return &linkFold{on: make(map[string]bool), labels: make(map[string]string)}
}

// next folds an event. It returns whether the event changed the record, and, if that is to be told, what.
func (f *linkFold) next(e events.Event, tell bool) (changed bool, changes []FieldChange) {
	before, tags := snapshotOf(f.url), []string(nil)
	retagged := f.retags(e)
	if retagged {
		if tell {
			tags = f.tagLabels()
		}
		f.shown = nil
	}
	f.evolve(e)
	after := snapshotOf(f.url)
	if before == after && !retagged {
		return false, nil
	}
	if tell {
		changes = before.changes(after, func(d *difference) {
			if retagged {
				d.add("tags", tags, f.tagLabels())
			}
		})
	}
	return true, changes
}

func (f *linkFold) evolve(e events.Event) {
	f.url.evolve(e)
	switch e := e.(type) {
	case events.URLCreated:
		f.on = setOf(e.Tags)
	case events.URLTagged:
		for _, id := range e.Tags {
			f.on[id] = true
		}
	case events.URLUntagged:
		for _, id := range e.Tags {
			delete(f.on, id)
		}
	case events.TagCreated:
		f.labels[e.TagID] = e.Label
	case events.TagRenamed:
		if _, lives := f.labels[e.TagID]; lives {
			f.labels[e.TagID] = e.Label
		}
	case events.TagDeleted:
		delete(f.labels, e.TagID)
	}
}

// retags tells whether an event will change the labels that the link shows.
func (f *linkFold) retags(e events.Event) bool {
	lives := func(id string) bool { _, lives := f.labels[id]; return lives }
	switch e := e.(type) {
	case events.URLCreated:
		return slices.ContainsFunc(e.Tags, lives)
	case events.URLTagged:
		return slices.ContainsFunc(e.Tags, lives)
	case events.URLUntagged:
		return slices.ContainsFunc(e.Tags, func(id string) bool { return f.on[id] && lives(id) })
	case events.TagCreated:
		return f.on[e.TagID] && (!lives(e.TagID) || f.labels[e.TagID] != e.Label)
	case events.TagRenamed:
		return f.on[e.TagID] && lives(e.TagID) && f.labels[e.TagID] != e.Label
	case events.TagDeleted:
		return f.on[e.TagID] && lives(e.TagID)
	}
	return false
}

// tagLabels returns the labels of the link's tags, in a list that does not change any more.
func (f *linkFold) tagLabels() []string {
	if f.shown == nil {
		f.shown = make([]string, 0, len(f.url.Tags))
		for _, id := range f.url.Tags {
			if label, lives := f.labels[id]; lives {
				f.shown = append(f.shown, label)
			}
		}
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
