package domain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"linkledger/events"

	"github.com/google/uuid"
)

// Limits of tags. A link or an account that had more tags before the limits existed keeps them.
const (
	MaxLinkTags    = 100
	MaxAccountTags = 10_000
)

// Create returns the events that create the tags that the items of a batch name and the account
// lacks. Earlier items take precedence. If the labels of an item are refused, the error is at the
// index of the item, and none of its tags is created.
func (t Tags) Create(
	account string, items [][]string, command uuid.UUID, at time.Time,
) ([]events.Event, []error) {
	var created []events.Event
	refused := make([]error, len(items))
	known := make(map[string]bool) // labels of tags to create
	for i, labels := range items {
		var missing []string
		if missing, refused[i] = t.missing(labels, known); refused[i] != nil {
			continue
		}
		for _, label := range missing {
			known[PlainLabel(label)] = true
			id := uuid.NewSHA1(command, []byte(label)).String()
			created = append(
				created, events.TagCreated{TagID: id, Account: account, Label: label, At: at},
			)
		}
	}
	return created, refused
}

// missing returns the labels, each once, that are neither tags of the account nor in known. It
// refuses a malformed label, and more new tags than are allowed.
func (t Tags) missing(labels []string, known map[string]bool) ([]string, error) {
	if err := CheckLabels(labels); err != nil {
		return nil, err
	}
	var missing []string
	seen := make(map[string]bool)
	for _, label := range labels {
		label := storedLabel(label)
		key := PlainLabel(label)
		if _, exists := t.byLabel[key]; exists || known[key] || seen[key] {
			continue
		}
		seen[key] = true
		missing = append(missing, label)
	}
	switch {
	case len(missing) > MaxLinkTags:
		return nil, ErrTooManyTags(len(missing))
	case len(missing) > 0 && len(t.byID)+len(known)+len(missing) > MaxAccountTags:
		return nil, Refuse(InvalidLabel, "An account has at most %d tags: delete tags that are "+
			"not needed, or use existing ones",
			MaxAccountTags)
	}
	return missing, nil
}

// ErrTooManyTags returns the refusal of a link with this number of tags.
func ErrTooManyTags(tags int) error {
	return Refuse(InvalidLabel, "A URL has at most %d tags, and this would make it %d: give it "+
		"fewer, or detach some first",
		MaxLinkTags, tags)
}

// CheckTagCount refuses labels for a new link if they are more than MaxLinkTags different labels.
func CheckTagCount(labels []string) error {
	if len(labels) <= MaxLinkTags {
		return nil
	}
	different := make(map[string]bool)
	for _, label := range labels {
		different[PlainLabel(label)] = true
	}
	if len(different) > MaxLinkTags {
		return ErrTooManyTags(len(different))
	}
	return nil
}

// WithoutDeleted returns the change extended so that it also detaches the deleted tags of the link,
// and the number of tags that the link then has. tags are the tags of the account: a tag that is
// not among them is deleted.
func (u Link) WithoutDeleted(c LinkChange, tags Tags) (LinkChange, int) {
	c.Detach = slices.Clone(c.Detach)
	for _, id := range u.Tags {
		if _, lives := tags.byID[id]; !lives {
			c.Detach = append(c.Detach, id)
		}
	}
	attach, detach := u.Retagging(c)
	return c, len(u.Tags) + len(attach) - len(detach)
}

// Retagging returns the tags that a change adds to the link, and the tags that it removes, each
// once.
func (u Link) Retagging(c LinkChange) (attach, detach []string) {
	if len(c.Attach) == 0 && len(c.Detach) == 0 {
		return nil, nil
	}
	has := SetOf(u.Tags)
	for _, id := range c.Attach {
		if !has[id] {
			attach = append(attach, id)
		}
	}
	for _, id := range c.Detach {
		if has[id] {
			detach = append(detach, id)
			has[id] = false
		}
	}
	return attach, detach
}

// SetOf returns ids as a set.
func SetOf(ids []string) map[string]bool {
	set := make(map[string]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// CheckLabels refuses labels with InvalidLabel if some are malformed or reserved. If several labels
// are refused, the error names each of them.
func CheckLabels(labels []string) error {
	var first error
	var all []string
	for _, label := range labels {
		if _, err := checkLabel(label); err != nil {
			first = cmp.Or(first, err)
			all = append(all, fmt.Sprintf("%q: %s", label, err))
		}
	}
	if len(all) > 1 {
		return Refuse(InvalidLabel, "%d tags are refused. %s", len(all), strings.Join(all, ". "))
	}
	return first
}

// IDs returns the ids of the tags with these labels, each once.
func (t Tags) IDs(labels []string) []string {
	var ids []string
	seen := make(map[string]bool)
	for _, label := range labels {
		if tag, ok := t.ByLabel(label); ok && !seen[tag.ID] {
			seen[tag.ID] = true
			ids = append(ids, tag.ID)
		}
	}
	return ids
}
