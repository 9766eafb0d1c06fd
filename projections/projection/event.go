package projection

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/projections/sqlbatch"
)

// Event is a recorded event with its decoded body.
type Event struct {
	eventstore.Recorded
	Body  events.Event // nil if the projection is raw
	Index int          // of the event in its batch
	// Detached means that the event may be applied out of the order of its stream. Earlier events
	// may be missing because they are set aside, and later events that end rights may have been
	// applied already. A fold MUST decide about a detached event by the events before it in the
	// stream, as a rebuild does. It MUST apply an event that ends rights as far as it can.
	Detached bool
	// AtOnce means that the event is applied while its stream is set aside, and stays a dead
	// letter. This happens only to an event for which Definition.Outlasts returns true.
	AtOnce bool
}

// Decode decodes events. It leaves out events that Linkledger did not write.
func (p Definition) Decode(recorded []eventstore.Recorded) ([]Event, error) {
	decoded := make([]Event, 0, len(recorded))
	for i, r := range recorded {
		if !p.Raw && IsForeign(r) {
			continue
		}
		f := Event{Recorded: r, Index: i}
		if !p.Raw {
			var err error
			if f.Body, err = r.Event(); err != nil {
				// NewEventError names the event, so the outer error, which names it too, is left
				// out.
				return nil, NewEventError(r, i, errors.Unwrap(err))
			}
		}
		decoded = append(decoded, f)
	}
	return decoded, nil
}

// Detached decodes an event whose stream is set aside. It returns true if the event is applied all
// the same, see Definition.Outlasts.
func (p Definition) Detached(r eventstore.Recorded, index int) (Event, bool) {
	if p.Outlasts == nil || p.Raw {
		return Event{}, false
	}
	body, err := r.Event()
	if err != nil || !p.Outlasts(body) {
		return Event{}, false
	}
	return Event{Recorded: r, Body: body, Index: index, Detached: true, AtOnce: true}, true
}

// Independent reports whether the events of a stream do not depend on each other. If one of them is
// set aside, the others are still applied. This is so for streams of clicks, because such a stream
// has the clicks of all accounts.
func Independent(stream string) bool { return strings.HasPrefix(stream, events.StreamClicks) }

// IsForeign reports whether Linkledger did not write an event although the name of its stream has
// the right form. Either the event store wrote it, such as a tombstone, or PostgreSQL cannot store
// the name.
func IsForeign(r eventstore.Recorded) bool {
	return r.IsSystem() || !utf8.ValidString(r.Stream) || strings.ContainsRune(r.Stream, 0)
}

// Each calls apply for the events in their order. An error of apply is returned as an *EventError.
func Each(batch []Event, apply func(Event) error) error {
	for _, f := range batch {
		if err := apply(f); err != nil {
			return NewEventError(f.Recorded, f.Index, err)
		}
	}
	return nil
}

// Subject returns the id after the prefix in the name of the event's stream.
func (e Event) Subject(prefix string) (uuid.UUID, error) {
	id, ok := strings.CutPrefix(e.Stream, prefix)
	if !ok {
		return uuid.Nil, fmt.Errorf("%w: it lies in stream %s", ErrContradiction, e.Stream)
	}
	return ParseID(id)
}

// Link returns the id of the link that the event changed.
func (e Event) Link() (uuid.UUID, error) {
	id, ok := events.LinkIn(e.Stream)
	if !ok {
		return uuid.Nil, fmt.Errorf("%w: it lies in stream %s", ErrContradiction, e.Stream)
	}
	return ParseID(id)
}

// IsClaim reports whether the event only claims or releases a hash. Such an event may lie in the
// stream of a link, but does not change the link.
func (e Event) IsClaim() bool {
	switch e.Body.(type) {
	case events.HashClaimed, events.HashReleased, events.ClaimAbandoned, events.CreationAbandoned:
		return true
	}
	return false
}

// CommitPosition returns the commit position as PostgreSQL stores it.
func (e Event) CommitPosition() int64 { return sqlbatch.Signed(e.Position.Commit) }

// ParseID parses an id of a recorded event.
func ParseID(text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil {
		return uuid.Nil, fmt.Errorf("id %q: %w", text, err)
	}
	return id, nil
}

// ParseIDs parses ids of a recorded event.
func ParseIDs(texts []string) ([]uuid.UUID, error) {
	ids := make([]uuid.UUID, len(texts))
	for i, text := range texts {
		var err error
		if ids[i], err = ParseID(text); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// ParseDate parses a date of a recorded event. It returns nil if the text is empty.
func ParseDate(text string) (*time.Time, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // no date is a value
	}
	date, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return nil, err
	}
	return &date, checkYear(date)
}

// CheckTime fails if the time is zero or PostgreSQL cannot store it.
func CheckTime(at time.Time) error {
	if at.IsZero() {
		return fmt.Errorf("%w: it has no time", ErrContradiction)
	}
	return checkYear(at.UTC())
}

// Or returns the time in the body of an event, or the time of its recording if PostgreSQL cannot
// store the former. It is for events that MUST be applied.
func (e Event) Or(at time.Time) time.Time {
	if CheckTime(at) != nil {
		return e.Time
	}
	return at
}

func checkYear(t time.Time) error {
	if t.Year() < 1 || t.Year() > 9999 {
		return fmt.Errorf("%w: there is no year %d", ErrContradiction, t.Year())
	}
	return nil
}

// Unexpected returns the error about an event whose type does not belong in its stream.
func Unexpected(e Event) error {
	return fmt.Errorf("%w: %s has no place in stream %s", ErrContradiction, e.Type, e.Stream)
}
