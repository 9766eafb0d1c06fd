package commands

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"linkledger/events"
	"linkledger/events/eventstore"
)

const maxLabel = 50 // code points

// autotags are labels that expressions give a meaning of their own.
var autotags = []string{"archived", "visited", "ping", "email_stats", "protected"}

// Tag is a label that an account attaches to links.
type Tag struct {
	ID    string
	Label string // as first written
}

// Tags is the state of all tags of one account, folded from its stream. What it costs to find one does not depend on how
// many there are.
type Tags struct {
	byID    map[string]Tag
	byLabel map[string]string // id, by the label as labelKey writes it
}

func foldTags(history []events.Event) Tags {
	var t Tags
	for _, e := range history {
		t.evolve(e)
	}
	return t
}

func (t *Tags) evolve(e events.Event) {
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

// tagOf returns the id of the tag that an event is about.
func tagOf(e events.Event) string {
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

// labelKey returns the one spelling that stands for all that differ from it in case alone, under Unicode simple case
// folding: each letter is the lowest of those that it may be written as.
func labelKey(label string) string {
	return strings.Map(func(r rune) rune {
		lowest := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			lowest = min(lowest, other)
		}
		return lowest
	}, label)
}

// ByLabel finds a tag by its label, under Unicode simple case folding.
func (t Tags) ByLabel(label string) (Tag, bool) {
	id, ok := t.byLabel[labelKey(trimLabel(label))]
	return t.byID[id], ok
}

// Labels returns the labels of tag ids. Ids of deleted tags have none.
func (t Tags) Labels(ids []string) []string {
	labels := make([]string, 0, len(ids))
	for _, id := range ids {
		if tag, ok := t.byID[id]; ok {
			labels = append(labels, tag.Label)
		}
	}
	return labels
}

// rename decides on another label for a tag. Its own label in another spelling is allowed, another tag's is not.
func (t Tags) rename(label, to string, at time.Time) ([]events.Event, error) {
	tag, ok := t.ByLabel(label)
	if !ok {
		return nil, refuse(TagNotFound, "There is no tag %q", label)
	}
	to, err := checkLabel(to)
	if err != nil {
		return nil, err
	}
	if other, taken := t.ByLabel(to); taken && other.ID != tag.ID {
		return nil, refuse(InvalidLabel, "There is already a tag %q", other.Label)
	}
	if to == tag.Label {
		return nil, nil
	}
	return []events.Event{events.TagRenamed{TagID: tag.ID, Label: to, At: at}}, nil
}

func (t Tags) delete(label string, at time.Time) ([]events.Event, error) {
	tag, ok := t.ByLabel(label)
	if !ok {
		return nil, refuse(TagNotFound, "There is no tag %q", label)
	}
	return []events.Event{events.TagDeleted{TagID: tag.ID, At: at}}, nil
}

func trimLabel(label string) string { return strings.TrimSpace(label) }

// checkLabel returns a label as it is stored, or refuses it.
func checkLabel(label string) (string, error) {
	label = trimLabel(label)
	if n := utf8.RuneCountInString(label); n < 1 || n > maxLabel {
		return "", refuse(InvalidLabel, "A tag label must have 1 to %d characters", maxLabel)
	}
	allowed := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" _-.", r)
	}
	if !utf8.ValidString(label) || strings.ContainsFunc(label, func(r rune) bool { return !allowed(r) }) {
		return "", refuse(InvalidLabel, "A tag label may contain letters, digits, space, _ - and . only: %q", label)
	}
	if slices.ContainsFunc(autotags, func(auto string) bool { return strings.EqualFold(auto, label) }) {
		return "", refuse(InvalidLabel, "The label %q has a meaning of its own and cannot be a tag", label)
	}
	return label, nil
}

// TagOutcome is the tag after a command, and where the account's tags lie in the log.
type TagOutcome struct {
	Tag      Tag
	Position eventstore.Position
}

// CreateTag creates a tag, or finds the one that has the label. It refuses with InvalidLabel.
func (h *Handler) CreateTag(ctx context.Context, r Request, label string) (TagOutcome, error) {
	tags, refused, position, err := h.ensureTags(ctx, r, [][]string{{label}})
	if err := cmp.Or(err, refused[0]); err != nil {
		return TagOutcome{}, err
	}
	tag, _ := tags.ByLabel(label)
	return TagOutcome{Tag: tag, Position: position}, nil
}

// RenameTag gives a tag another label. It refuses with TagNotFound and InvalidLabel.
func (h *Handler) RenameTag(ctx context.Context, r Request, label, to string) (TagOutcome, error) {
	tags, position, err := h.changeTags(ctx, r, func(t Tags) ([]events.Event, error) { return t.rename(label, to, h.now()) })
	if err != nil {
		return TagOutcome{}, err
	}
	tag, _ := tags.ByLabel(to)
	return TagOutcome{Tag: tag, Position: position}, nil
}

// DeleteTag removes a tag from the account and so from all its links. It refuses with TagNotFound.
func (h *Handler) DeleteTag(ctx context.Context, r Request, label string) (eventstore.Position, error) {
	_, position, err := h.changeTags(ctx, r, func(t Tags) ([]events.Event, error) { return t.delete(label, h.now()) })
	return position, err
}

// ensureTags creates the tags that the items of a batch name and that are missing. An item whose tags the account has no room
// for is refused, and none of its tags is created; what refused it is at its index.
func (h *Handler) ensureTags(ctx context.Context, r Request, items [][]string) (Tags, []error, eventstore.Position, error) {
	refused := make([]error, len(items))
	tags, position, err := h.changeTags(ctx, r, func(t Tags) (created []events.Event, err error) {
		created, refused = t.create(r.Account, items, r.Command, h.now())
		return created, nil
	})
	return tags, refused, position, err
}

// changeTags appends what decide makes of the account's tags, and returns them as they are afterwards. Where the command was
// carried out before, nothing is appended, whatever is decided.
func (h *Handler) changeTags(ctx context.Context, r Request, decide func(Tags) ([]events.Event, error)) (Tags, eventstore.Position, error) {
	stream := events.StreamTags + r.Account
	var position eventstore.Position
	tags, err := retry(func() (Tags, error) {
		loaded, err := h.load(ctx, stream)
		if err != nil {
			return Tags{}, err
		}
		tags := foldTags(loaded.events)
		position = loaded.position()
		changes, err := decide(tags)
		if loaded.holds(r.Command, stream) {
			return tags, nil
		}
		if err != nil || len(changes) == 0 {
			return tags, err
		}
		appended, err := h.append(ctx, r, stream, loaded.revision(), changes...)
		position = appended.Position
		for _, e := range changes {
			tags.evolve(e)
		}
		return tags, err
	})
	return tags, position, err
}
