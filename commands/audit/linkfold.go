package audit

import (
	"slices"

	"linkledger/commands/domain"
	"linkledger/events"
)

// linkFold folds the events of a link and of its tags, in the order of the log, and finds what each
// of them changed of the link's record. An event costs the same however many tags there are, unless
// its change of them is to be told: that takes both lists.
type linkFold struct {
	url      domain.Link
	attached map[string]bool // ids of the link's tags
	tags     domain.Tags     // of those that the link ever had
	labels   []string        // labels of the link's tags; nil: they have changed since
}

func newLinkFold() *linkFold { return &linkFold{attached: make(map[string]bool)} }

// next folds an event. It returns whether the event changed the record, and, if that is to be told,
// what.
func (f *linkFold) next(e events.Event, tell bool) (changed bool, changes []FieldChange) {
	var labels []string
	if tell && f.mayRetag(e) {
		labels = f.tagLabels()
	}
	before := recordOf(f.url)
	retagged := f.apply(e)
	if retagged {
		f.labels = nil
	}
	after := recordOf(f.url)
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

// mayRetag tells whether an event may change the labels that the link shows.
func (f *linkFold) mayRetag(e events.Event) bool {
	switch e.(type) {
	case events.URLCreated, events.URLTagged, events.URLUntagged:
		return true
	}
	return f.attached[domain.TagOf(e)]
}

// apply tells whether the labels that the link shows have changed.
func (f *linkFold) apply(e events.Event) (retagged bool) {
	if id := domain.TagOf(e); id != "" {
		was, lived := f.tags.ByID(id)
		f.tags.Apply(e)
		is, lives := f.tags.ByID(id)
		return f.attached[id] && (was != is || lived != lives)
	}
	f.url.Apply(e)
	lives := func(id string) bool { _, lives := f.tags.ByID(id); return lives }
	switch e := e.(type) {
	case events.URLCreated:
		f.attached = domain.SetOf(e.Tags)
		return slices.ContainsFunc(e.Tags, lives)
	case events.URLTagged:
		for _, id := range e.Tags {
			f.attached[id] = true
		}
		return slices.ContainsFunc(e.Tags, lives)
	case events.URLUntagged:
		for _, id := range e.Tags {
			retagged = retagged || f.attached[id] && lives(id)
			delete(f.attached, id)
		}
	}
	return retagged
}

// tagLabels returns the labels of the link's tags, in a list that does not change any more.
func (f *linkFold) tagLabels() []string {
	if f.labels == nil {
		f.labels = f.tags.Labels(f.url.Tags)
	}
	return f.labels
}
