package audit

import (
	"context"

	"linkledger/commands/streams"
	"linkledger/events"
)

// linkEntries folds the events of a link and of its tags. An event of a tag has an entry only if it
// changed the link's record. linkEntries returns the keys of all entries. It returns an entry
// itself only if include returns true for its key, because the labels of many tags are costly.
func linkEntries(
	ctx context.Context, link string, all []streams.RecordedEvent, reader string,
	include func(entryKey) bool,
) (LinkLife, []entryKey, []Entry, error) {
	var (
		life    LinkLife
		keys    []entryKey
		entries []Entry
	)
	fold := newLinkFold()
	for _, s := range all {
		if err := ctx.Err(); err != nil {
			return LinkLife{}, nil, nil, err
		}
		key := entryKey{s.Position, link}
		wanted := include(key)
		changed, changes := fold.next(s.Body, wanted)
		life.apply(s.Body)
		if s.Stream != events.LinkStream(link) && !changed {
			continue
		}
		keys = append(keys, key)
		if !wanted {
			continue
		}
		entry, err := entryOf(s, link, reader, changes)
		if err != nil {
			return LinkLife{}, nil, nil, err
		}
		entries = append(entries, entry)
	}
	return life, keys, entries, nil
}
