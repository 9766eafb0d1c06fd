package streams

import (
	"context"
	"slices"
	"strings"

	"linkledger/events/eventstore"
)

// Logged has the events of streams from the log, by stream, oldest first.
type Logged map[string][]eventstore.Recorded

// Missing returns, for each stream with missing events, the revisions before its last event that
// the log lacks. They are ranges: each has its first and its last revision.
func (l Logged) Missing() map[string][][2]eventstore.Revision {
	missing := make(map[string][][2]eventstore.Revision)
	for stream, recorded := range l {
		next := eventstore.Revision(0)
		for _, r := range recorded {
			if r.Revision > next {
				missing[stream] = append(
					missing[stream], [2]eventstore.Revision{next, r.Revision - 1},
				)
			}
			next = r.Revision + 1
		}
	}
	return missing
}

// ReadFromLog reads the whole log, up to its present end, and adds the events of the wanted streams
// to into.
func (s *Streams) ReadFromLog(ctx context.Context, wanted map[string]bool, into Logged) error {
	head, err := s.cfg.Store.Head(ctx)
	if err != nil {
		return err
	}
	return s.cfg.Store.ReadLog(ctx, eventstore.Position{}, head, func(
		batch []eventstore.Recorded,
	) error {
		for _, r := range slices.DeleteFunc(batch, eventstore.Recorded.IsSystem) {
			if wanted[r.Stream] {
				stream := strings.Clone(r.Stream)
				into[stream] = append(into[stream], r)
			}
		}
		return nil
	})
}

// WithLogged returns Streams that reads the events in logged instead of the streams of the event
// store.
func (s *Streams) WithLogged(logged Logged) *Streams {
	from := *s
	from.logged = logged
	return &from
}
