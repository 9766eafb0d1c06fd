package domain

import (
	"cmp"
	"slices"
	"time"

	"linkledger/events"
	"linkledger/typed"
)

// Tag is a label that an account attaches to links.
type Tag struct {
	ID    string
	Label string // as first written

	number int // in the order of creation
}

// Tags is the state of all tags of one account, folded from its stream. The cost to find a tag does
// not depend on their number.
type Tags struct {
	byID map[string]Tag
	// byLabel has the ids of tags by PlainLabel, in the order of creation. A label has several ids
	// only if the tags are older than the present comparison of labels.
	byLabel map[string][]string
	created int
}

// FoldTags returns the tags of an account after the events of its stream.
func FoldTags(history []events.Event) Tags {
	var t Tags
	for _, e := range history {
		t.Apply(e)
	}
	return t
}

// Apply folds one more event.
func (t *Tags) Apply(e events.Event) {
	switch e := e.(type) {
	case events.TagCreated:
		t.put(Tag{ID: e.TagID, Label: e.Label})
	case events.TagRenamed:
		if _, ok := t.byID[e.TagID]; ok {
			t.put(Tag{ID: e.TagID, Label: e.Label})
		}
	case events.TagDeleted:
		if was, ok := t.byID[e.TagID]; ok {
			t.remove(was)
		}
	}
}

// TagOf returns the id of the tag of an event, or the empty string if the event is about no tag.
func TagOf(e events.Event) string {
	switch e := e.(type) {
	case events.TagCreated:
		return e.TagID
	case events.TagRenamed:
		return e.TagID
	case events.TagDeleted:
		return e.TagID
	}
	return ""
}

// put adds a tag, or gives it another label.
func (t *Tags) put(tag Tag) {
	if t.byID == nil {
		t.byID, t.byLabel = make(map[string]Tag), make(map[string][]string)
	}
	if was, ok := t.byID[tag.ID]; ok {
		tag.number = was.number
		t.remove(was)
	} else {
		t.created++
		tag.number = t.created
	}
	t.byID[tag.ID] = tag
	key := PlainLabel(tag.Label)
	ids := append(slices.Clone(t.byLabel[key]), tag.ID)
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Compare(t.byID[a].number, t.byID[b].number)
	})
	t.byLabel[key] = ids
}

func (t *Tags) remove(tag Tag) {
	delete(t.byID, tag.ID)
	key := PlainLabel(tag.Label)
	ids := slices.DeleteFunc(t.byLabel[key], func(id string) bool { return id == tag.ID })
	if t.byLabel[key] = ids; len(ids) == 0 {
		delete(t.byLabel, key)
	}
}

// ByID returns the tag with an id.
func (t Tags) ByID(id string) (Tag, bool) {
	tag, ok := t.byID[id]
	return tag, ok
}

// Empty reports whether there are no tags.
func (t Tags) Empty() bool { return len(t.byID) == 0 }

// ByLabel returns the tag that a label means: see typed.Fold and typed.Meant.
func (t Tags) ByLabel(label string) (Tag, bool) {
	ids := t.byLabel[PlainLabel(label)]
	labels := make([]string, len(ids))
	for i, id := range ids {
		labels[i] = t.byID[id].Label
	}
	meant := typed.Meant(storedLabel(label), labels)
	if meant < 0 {
		return Tag{}, false
	}
	return t.byID[ids[meant]], true
}

// Lacks reports whether one of the labels belongs to no tag.
func (t Tags) Lacks(labels []string) bool {
	return slices.ContainsFunc(labels, func(label string) bool {
		_, ok := t.ByLabel(label)
		return !ok
	})
}

// Labels returns the labels of tag ids. It leaves out deleted tags.
func (t Tags) Labels(ids []string) []string {
	labels := make([]string, 0, len(ids))
	for _, id := range ids {
		if tag, ok := t.byID[id]; ok {
			labels = append(labels, tag.Label)
		}
	}
	return labels
}

// Rename returns the renaming of a tag. A tag may change the case of its own label, but not take
// the label of another tag. It refuses with TagNotFound and InvalidLabel.
func (t Tags) Rename(label, to string, at time.Time) ([]events.Event, error) {
	tag, ok := t.ByLabel(label)
	if !ok {
		return nil, Refuse(TagNotFound, "There is no tag %q", label)
	}
	to, err := checkLabel(to)
	if err != nil {
		return nil, err
	}
	if other, taken := t.ByLabel(to); taken && other.ID != tag.ID {
		return nil, Refuse(InvalidLabel, "There is already a tag %q", to)
	}
	if to == tag.Label {
		return nil, nil
	}
	return []events.Event{events.TagRenamed{TagID: tag.ID, Label: to, At: at}}, nil
}

// Delete returns the deletion of a tag. It refuses with TagNotFound.
func (t Tags) Delete(label string, at time.Time) ([]events.Event, error) {
	tag, ok := t.ByLabel(label)
	if !ok {
		return nil, Refuse(TagNotFound, "There is no tag %q", label)
	}
	return []events.Event{events.TagDeleted{TagID: tag.ID, At: at}}, nil
}
