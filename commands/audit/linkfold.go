package audit

import (
	"slices"

	"linkledger/commands/domain"
	"linkledger/events"
)

// linkFold folds the events of a link and of its tags, in the order of the log, and returns what
// each of them changed in the link's record. The cost of an event does not depend on the number of
// tags, unless the caller asks for the changes and the event may change tags.
type linkFold struct {
	url      domain.Link
	attached map[string]bool // ids of the link's tags
	tags     domain.Tags     // all that the link ever had
	labels   []string        // of the link's tags; nil: out of date
}

func newLinkFold() *linkFold { return &linkFold{attached: make(map[string]bool)} }

// next folds an event. It reports whether the event changed the record, and returns the changes if
// list is true.
func (f *linkFold) next(e events.Event, list bool) (changed bool, changes []FieldChange) {
	var labels []string
	if list && f.mayRetag(e) {
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
	if list {
		changes = before.changes(after, func(d *difference) {
			if retagged {
				d.add("tags", labels, f.tagLabels())
			}
		})
	}
	return true, changes
}

// mayRetag reports whether an event may change the labels that the link shows.
func (f *linkFold) mayRetag(e events.Event) bool {
	switch e.(type) {
	case events.URLCreated, events.URLTagged, events.URLUntagged:
		return true
	}
	return f.attached[domain.TagOf(e)]
}

// apply folds an event and reports whether the labels that the link shows have changed.
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

// tagLabels returns the labels of the link's tags. Later events do not change the returned list.
func (f *linkFold) tagLabels() []string {
	if f.labels == nil {
		f.labels = f.tags.Labels(f.url.Tags)
	}
	return f.labels
}
