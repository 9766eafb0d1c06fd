package audit

import (
	"context"

	"linkledger/commands/streams"
	"linkledger/events"
)

// linkEntries folds the events of a link and of its tags. An event of a tag has an entry if it
// changed the link's record. It returns the keys of all entries, and in full those for which wanted
// returns true, because the labels of many tags are costly.
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
