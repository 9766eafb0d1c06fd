package domain

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"linkledger/events"
)

const maxLabel = 50 // code points

// autotags are labels with a meaning of their own in tag expressions.
var autotags = []string{"archived", "visited", "ping", "email_stats", "protected"}

// Tag is a label that an account attaches to links.
type Tag struct {
	ID    string
	Label string // as first written
}

// Tags is the state of all tags of one account, folded from its stream. The cost to find a tag does
// not depend on their number.
type Tags struct {
	byID    map[string]Tag
	byLabel map[string]string // id, by the label as labelKey writes it
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
		if was, ok := t.byID[e.TagID]; ok {
			t.remove(was)
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

func (t *Tags) put(tag Tag) {
	if t.byID == nil {
		t.byID, t.byLabel = make(map[string]Tag), make(map[string]string)
	}
	t.byID[tag.ID], t.byLabel[labelKey(tag.Label)] = tag, tag.ID
}

func (t *Tags) remove(tag Tag) {
	delete(t.byID, tag.ID)
	if key := labelKey(tag.Label); t.byLabel[key] == tag.ID {
		delete(t.byLabel, key)
	}
}

// labelKey returns the same key for all labels that differ only in case, under Unicode simple case
// folding: it replaces each letter by the lowest one that folds to it.
func labelKey(label string) string {
	return strings.Map(func(r rune) rune {
		lowest := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			lowest = min(lowest, other)
		}
		return lowest
	}, label)
}

// PlainLabel returns the same text for all spellings of a label: in lower case.
func PlainLabel(label string) string { return strings.ToLower(labelKey(trimLabel(label))) }

// DistinctLabels returns labels as they are stored, each once in its first spelling.
func DistinctLabels(labels []string) []string {
	distinct := make([]string, 0, len(labels))
	seen := make(map[string]bool, len(labels))
	for _, label := range labels {
		if key := labelKey(trimLabel(label)); !seen[key] {
			seen[key] = true
			distinct = append(distinct, trimLabel(label))
		}
	}
	return distinct
}

// ByID returns the tag with an id.
func (t Tags) ByID(id string) (Tag, bool) {
	tag, ok := t.byID[id]
	return tag, ok
}

// Empty reports whether there are no tags.
func (t Tags) Empty() bool { return len(t.byID) == 0 }

// ByLabel returns the tag with a label, under Unicode simple case folding.
func (t Tags) ByLabel(label string) (Tag, bool) {
	id, ok := t.byLabel[labelKey(trimLabel(label))]
	return t.byID[id], ok
}

// Lacks reports whether one of the labels is that of no tag.
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

func trimLabel(label string) string { return strings.TrimSpace(label) }

// checkLabel returns a label in its stored form. It refuses with InvalidLabel.
func checkLabel(label string) (string, error) {
	label = trimLabel(label)
	if n := utf8.RuneCountInString(label); n < 1 || n > maxLabel {
		return "", Refuse(InvalidLabel, "A tag label must have 1 to %d characters", maxLabel)
	}
	allowed := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" _-.", r)
	}
	if !utf8.ValidString(label) ||
		strings.ContainsFunc(label, func(r rune) bool { return !allowed(r) }) {
		return "", Refuse(
			InvalidLabel, "A tag label may contain letters, digits, space, _ - and . only: %q",
			label,
		)
	}
	if slices.ContainsFunc(
		autotags, func(auto string) bool { return strings.EqualFold(auto, label) },
	) {
		return "", Refuse(
			InvalidLabel, "The label %q has a meaning of its own and cannot be a tag", label,
		)
	}
	return label, nil
}
