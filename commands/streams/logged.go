package streams

import (
	"context"
	"slices"
	"strings"

	"linkledger/events/eventstore"
)

// Logged has the events of streams from the log, by stream, oldest first.
type Logged map[string][]eventstore.Recorded

// Missing returns the revisions before the last one that the log does not have, by stream, as
// ranges from one to another.
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

// ReadFromLog reads the wanted streams from the log. It reads the whole log, up to its present end.
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

// WithLogged returns Streams that reads these streams instead of the streams of the event store.
func (s *Streams) WithLogged(logged Logged) *Streams {
	from := *s
	from.logged = logged
	return &from
}
