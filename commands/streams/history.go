// Package streams reads and writes the event streams that commands decide on. It encrypts (seals)
// and decrypts (opens) personal data, and caches long streams. It decides nothing.
package streams

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
)

// History is a loaded stream. Events[i] is the decoded body of Recorded[i], or nil if it cannot be
// decoded.
type History struct {
	Recorded []eventstore.Recorded
	Events   []events.Event
	// Undecoded are the errors of the events that cannot be decoded, in their order.
	Undecoded []*eventstore.DecodeError
}

// Err returns the error of the first event that cannot be decoded, or nil if there is none.
func (h History) Err() error {
	if len(h.Undecoded) == 0 {
		return nil
	}
	return h.Undecoded[0]
}

// Last returns the events after the last event that cannot be decoded. What these events say holds,
// whatever the undecoded events say.
func (h History) Last() []events.Event {
	if len(h.Undecoded) == 0 {
		return h.Events
	}
	return h.Events[h.Undecoded[len(h.Undecoded)-1].Revision+1:]
}

// first returns the first n events.
func (h History) first(n int) History {
	undecoded := slices.IndexFunc(h.Undecoded, func(e *eventstore.DecodeError) bool {
		return e.Revision >= eventstore.Revision(n)
	})
	if undecoded < 0 {
		undecoded = len(h.Undecoded)
	}
	return History{
		Recorded: h.Recorded[:n:n], Events: h.Events[:n:n],
		Undecoded: h.Undecoded[:undecoded:undecoded],
	}
}

// from returns the events from index n on.
func (h History) from(n int) History {
	return History{
		Recorded: h.Recorded[n:], Events: h.Events[n:],
		Undecoded: h.Undecoded[len(h.first(n).Undecoded):],
	}
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

// decode decodes the events of a stream as far as it can. It fails only if ctx ends.
func decode(ctx context.Context, recorded []eventstore.Recorded) (History, error) {
	loaded := History{Recorded: recorded, Events: make([]events.Event, len(recorded))}
	for i, r := range recorded {
		if err := ctx.Err(); err != nil {
			return History{}, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
		}
		e, err := r.Event()
		if undecoded, ok := errors.AsType[*eventstore.DecodeError](err); ok {
			loaded.Undecoded = append(loaded.Undecoded, undecoded)
			continue
		}
		loaded.Events[i] = e
	}
	return loaded, nil
}
