package audit

import (
	"context"

	"linkledger/commands/streams"
	"linkledger/events"
)

// linkEntries folds the events of a link and of its tags. What happened to a tag has an entry where
// it changed the link's record. tell says of which entries more is wanted than their place.
func linkEntries(
	ctx context.Context, link string, all []streams.RecordedEvent, reader string,
	tell func(entryKey) bool,
) (LinkLife, []entryKey, []Entry, error) {
	var (
		life    LinkLife
		places  []entryKey
		entries []Entry
	)
	fold := newLinkFold()
	for _, s := range all {
		if err := ctx.Err(); err != nil {
			return LinkLife{}, nil, nil, err
		}
		place := entryKey{s.Position, link}
		wanted := tell(place)
		changed, changes := fold.next(s.Body, wanted)
		life.apply(s.Body)
		if s.Stream != events.StreamURL+link && !changed {
			continue
		}
		places = append(places, place)
		if !wanted {
			continue
		}
		entry, err := entryOf(s, link, reader, changes)
		if err != nil {
			return LinkLife{}, nil, nil, err
		}
		entries = append(entries, entry)
	}
	return life, places, entries, nil
}
