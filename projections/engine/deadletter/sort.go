package deadletter

import (
	"errors"
	"fmt"

	"linkledger/events/eventstore"
	"linkledger/projections/projection"
)

// Sorted holds the events of a batch by what happens to them.
type Sorted struct {
	Events  []projection.Event
	Letters []Letter              // in the order of the log
	Skipped []eventstore.Recorded // not written by Linkledger
}

// Sort decodes the events of a batch. parked are the streams that have dead letters. An event that
// cannot be decoded becomes a dead letter, and so do the later events of its stream: a damaged
// stream MUST NOT stop the projection of the other streams. Sort leaves out discarded events.
// Events that end rights are among the sorted Events even if they were discarded or follow a dead
// letter.
func Sort(
	of projection.Definition, discarded Discarded, parked map[string]struct{},
	recorded []eventstore.Recorded,
) Sorted {
	s := Sorted{Events: make([]projection.Event, 0, len(recorded))}
	var now map[string]struct{} // streams with a dead letter of this batch
	for i, r := range recorded {
		if !of.Raw && projection.IsForeign(r) {
			s.Skipped = append(s.Skipped, r)
			continue
		}
		given := discarded.Has(r)
		if given || follows(now, r) || follows(parked, r) {
			if !given {
				s.Letters = append(s.Letters, Letter{Recorded: r, Cause: ErrFollows})
			}
			if event, ok := of.Detached(r, i); ok {
				s.Events = append(s.Events, event)
			}
			continue
		}
		f := projection.Event{Recorded: r, Index: i}
		if !of.Raw {
			var err error
			if f.Body, err = r.Event(); err != nil {
				// The outer error only adds the name of the event, which the dead letter has
				// already. So the cause contains only the inner error.
				cause := fmt.Errorf("%w: %w", ErrUnreadable, errors.Unwrap(err))
				s.Letters = append(s.Letters, Letter{Recorded: r, Cause: cause})
				if now == nil {
					now = make(map[string]struct{})
				}
				now[r.Stream] = struct{}{}
				continue
			}
		}
		s.Events = append(s.Events, f)
	}
	return s
}

// follows reports whether an event depends on an earlier event of its stream that is set aside.
// parked are the streams that have such events.
func follows(parked map[string]struct{}, r eventstore.Recorded) bool {
	_, ok := parked[r.Stream]
	return ok && !projection.Independent(r.Stream)
}
