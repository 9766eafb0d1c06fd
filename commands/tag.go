package commands

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

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

// Tags is the state of all tags of one account, folded from its stream, in the order of their creation.
type Tags struct {
	all []Tag
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
		t.all = append(t.all, Tag{ID: e.TagID, Label: e.Label})
	case events.TagRenamed:
		if i := t.index(e.TagID); i >= 0 {
			t.all[i].Label = e.Label
		}
	case events.TagDeleted:
		if i := t.index(e.TagID); i >= 0 {
			t.all = slices.Delete(t.all, i, i+1)
		}
	}
}

func (t Tags) index(id string) int {
	return slices.IndexFunc(t.all, func(tag Tag) bool { return tag.ID == id })
}

// ByLabel finds a tag by its label, under Unicode simple case folding.
func (t Tags) ByLabel(label string) (Tag, bool) {
	label = strings.TrimSpace(label)
	i := slices.IndexFunc(t.all, func(tag Tag) bool { return strings.EqualFold(tag.Label, label) })
	if i < 0 {
		return Tag{}, false
	}
	return t.all[i], true
}

// Labels returns the labels of tag ids. Ids of deleted tags have none.
func (t Tags) Labels(ids []string) []string {
	labels := make([]string, 0, len(ids))
	for _, id := range ids {
		if i := t.index(id); i >= 0 {
			labels = append(labels, t.all[i].Label)
		}
	}
	return labels
}

// create decides which of the labels are new tags.
func (t Tags) create(account string, labels []string, command uuid.UUID, at time.Time) ([]events.Event, error) {
	var created []events.Event
	known := Tags{all: slices.Clone(t.all)}
	for _, label := range labels {
		label, err := checkLabel(label)
		if err != nil {
			return nil, err
		}
		if _, exists := known.ByLabel(label); exists {
			continue
		}
		tag := Tag{ID: uuid.NewSHA1(command, []byte(label)).String(), Label: label}
		known.all = append(known.all, tag)
		created = append(created, events.TagCreated{TagID: tag.ID, Account: account, Label: label, At: at})
	}
	return created, nil
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

// checkLabel returns a label as it is stored, or refuses it.
func checkLabel(label string) (string, error) {
	label = strings.TrimSpace(label)
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
	tags, position, err := h.ensureTags(ctx, r, []string{label})
	if err != nil {
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

// ensureTags creates the tags that are missing.
func (h *Handler) ensureTags(ctx context.Context, r Request, labels []string) (Tags, eventstore.Position, error) {
	return h.changeTags(ctx, r, func(t Tags) ([]events.Event, error) {
		return t.create(r.Account, labels, r.Command, h.now())
	})
}

// changeTags appends what decide makes of the account's tags, and returns them as they are afterwards.
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
		if loaded.holds(r.Command, stream) {
			return tags, nil
		}
		changes, err := decide(tags)
		if err != nil || len(changes) == 0 {
			return tags, err
		}
		appended, err := h.append(ctx, r, stream, loaded.revision(), changes...)
		position = appended.Position
		return foldTags(append(loaded.events, changes...)), err
	})
	return tags, position, err
}
