package commands

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
)

// What a link or an account has beyond these bounds, from before there were any, it keeps.
const (
	maxLinkTags    = 100
	maxAccountTags = 10_000
)

// create decides which of the labels that the items of a batch name are new tags. The first items get the room that there
// is; those that need more are refused.
func (t Tags) create(account string, items [][]string, command uuid.UUID, at time.Time) ([]events.Event, []error) {
	var created []events.Event
	refused := make([]error, len(items))
	known := make(map[string]bool) // labels of tags to create
	for i, labels := range items {
		var missing []string
		if missing, refused[i] = t.missing(labels, known); refused[i] != nil {
			continue
		}
		for _, label := range missing {
			known[labelKey(label)] = true
			id := uuid.NewSHA1(command, []byte(label)).String()
			created = append(created, events.TagCreated{TagID: id, Account: account, Label: label, At: at})
		}
	}
	return created, refused
}

// missing returns those of the labels, each once, that neither the account has nor known names. It refuses what is no label,
// and more than there is room for.
func (t Tags) missing(labels []string, known map[string]bool) ([]string, error) {
	var missing []string
	seen := make(map[string]bool)
	for _, label := range labels {
		label, err := checkLabel(label)
		if err != nil {
			return nil, err
		}
		key := labelKey(label)
		if _, exists := t.byLabel[key]; exists || known[key] || seen[key] {
			continue
		}
		seen[key] = true
		missing = append(missing, label)
	}
	switch {
	case len(missing) > maxLinkTags:
		return nil, errTooManyTags(len(missing))
	case len(missing) > 0 && len(t.byID)+len(known)+len(missing) > maxAccountTags:
		return nil, refuse(InvalidLabel, "An account has at most %d tags: delete tags that are not needed, or use existing ones",
			maxAccountTags)
	}
	return missing, nil
}

// errTooManyTags refuses so many tags on one link.
func errTooManyTags(tags int) error {
	return refuse(InvalidLabel, "A URL has at most %d tags, and this would make it %d: give it fewer, or detach some first",
		maxLinkTags, tags)
}

// checkTagCount refuses more labels for a new link than one may have.
func checkTagCount(labels []string) error {
	if len(labels) <= maxLinkTags {
		return nil
	}
	different := make(map[string]bool)
	for _, label := range labels {
		different[labelKey(trimLabel(label))] = true
	}
	if len(different) > maxLinkTags {
		return errTooManyTags(len(different))
	}
	return nil
}

// withinTagBound refuses a change that attaches tags and leaves the link with more than it may have. Tags that the account
// has deleted since still stand in the link's stream: where they take the room, the change detaches them. tags are those of
// the account a moment ago.
func (h *Handler) withinTagBound(ctx context.Context, u URL, c urlChange, tags Tags) (urlChange, error) {
	attach, detach := u.retagging(c)
	if len(attach) == 0 || len(u.Tags)+len(attach)-len(detach) <= maxLinkTags {
		return c, nil
	}
	if _, least := u.withoutDeleted(c, tags); least > maxLinkTags { // and perhaps some that have come since
		return urlChange{}, errTooManyTags(least)
	}
	// What the link has was created before the link was loaded, so what is not among the tags now was deleted.
	loaded, err := h.load(ctx, events.StreamTags+u.Account)
	if err != nil {
		return urlChange{}, err
	}
	c, left := u.withoutDeleted(c, foldTags(loaded.events))
	if left > maxLinkTags {
		return urlChange{}, errTooManyTags(left)
	}
	return c, nil
}

// withoutDeleted adds to a change that it detaches what the account has not, and returns how many tags the link has then.
func (u URL) withoutDeleted(c urlChange, tags Tags) (urlChange, int) {
	c.detach = slices.Clone(c.detach)
	for _, id := range u.Tags {
		if _, lives := tags.byID[id]; !lives {
			c.detach = append(c.detach, id)
		}
	}
	attach, detach := u.retagging(c)
	return c, len(u.Tags) + len(attach) - len(detach)
}

// retagging returns which tags of a change the link has not and gets, and which it has and loses, each once.
func (u URL) retagging(c urlChange) (attach, detach []string) {
	if len(c.attach) == 0 && len(c.detach) == 0 {
		return nil, nil
	}
	has := setOf(u.Tags)
	for _, id := range c.attach {
		if !has[id] {
			attach = append(attach, id)
		}
	}
	for _, id := range c.detach {
		if has[id] {
			detach = append(detach, id)
			has[id] = false
		}
	}
	return attach, detach
}

func setOf(ids []string) map[string]bool {
	set := make(map[string]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}
