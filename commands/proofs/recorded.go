package proofs

import (
	"context"

	"linkledger/commands/audit"
	"linkledger/events/eventstore"
)

// Recorded returns the stored events of entries, each event once. It calls load once for each
// stream, and leaves out the events that a stream lacks.
func Recorded(
	ctx context.Context, entries []audit.Entry,
	load func(context.Context, string) ([]eventstore.Recorded, error),
) (recorded []eventstore.Recorded, err error) {
	byStream := make(map[string]map[eventstore.Revision]eventstore.Recorded)
	for _, entry := range entries {
		if byStream[entry.Stream] == nil {
			loaded, err := load(ctx, entry.Stream)
			if err != nil {
				return nil, err
			}
			byStream[entry.Stream] = make(map[eventstore.Revision]eventstore.Recorded)
			for _, r := range loaded {
				byStream[entry.Stream][r.Revision] = r
			}
		}
		// An event may have entries for several links.
		if r, ok := byStream[entry.Stream][entry.Revision]; ok {
			recorded = append(recorded, r)
			delete(byStream[entry.Stream], entry.Revision)
		}
	}
	return recorded, nil
}
