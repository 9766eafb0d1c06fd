// Package streams reads and writes the event streams that commands decide on. It seals and opens
// notes, and caches long streams. It decides nothing.
package streams

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
)

// History is a loaded stream. Events[i] is the decoded body of Recorded[i].
type History struct {
	Recorded []eventstore.Recorded
	Events   []events.Event
}

// Revision returns the revision of the last event, or eventstore.NoStream.
func (h History) Revision() eventstore.Revision { return eventstore.Revision(len(h.Recorded)) - 1 }

// Position returns the position of the last event, or the zero Position.
func (h History) Position() eventstore.Position {
	if len(h.Recorded) == 0 {
		return eventstore.Position{}
	}
	return h.Recorded[len(h.Recorded)-1].Position
}

// Has reports whether the command has already appended to this stream.
func (h History) Has(command uuid.UUID, stream string) bool {
	first := eventstore.EventID(command, stream, 0)
	return slices.ContainsFunc(
		h.Recorded, func(r eventstore.Recorded) bool { return r.ID == first },
	)
}

// RecordedEvent is an event with its decoded body.
type RecordedEvent struct {
	eventstore.Recorded

	Body events.Event
}

// All returns the events with their bodies.
func (h History) All() []RecordedEvent {
	all := make([]RecordedEvent, len(h.Recorded))
	for i, r := range h.Recorded {
		all[i] = RecordedEvent{r, h.Events[i]}
	}
	return all
}

func decode(ctx context.Context, recorded []eventstore.Recorded) (History, error) {
	loaded := History{Recorded: recorded, Events: make([]events.Event, len(recorded))}
	for i, r := range recorded {
		if err := ctx.Err(); err != nil {
			return History{}, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
		}
		var err error
		if loaded.Events[i], err = r.Event(); err != nil {
			return History{}, err
		}
	}
	return loaded, nil
}
