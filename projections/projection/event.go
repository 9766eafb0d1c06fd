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

// Event is a stored event with its decoded body.
type Event struct {
	eventstore.Recorded
	Body  events.Event // nil for a raw projection
	Index int          // in its batch
}

// Decode decodes events. It leaves out those that Linkledger did not write.
func (p Definition) Decode(recorded []eventstore.Recorded) ([]Event, error) {
	facts := make([]Event, 0, len(recorded))
	for i, r := range recorded {
		if !p.Raw && IsForeign(r) {
			continue
		}
		f := Event{Recorded: r, Index: i}
		if !p.Raw {
			var err error
			if f.Body, err = r.Event(); err != nil {
				return nil, NewEventError(r, i, errors.Unwrap(err)) // which names the event too
			}
		}
		facts = append(facts, f)
	}
	return facts, nil
}

// IsForeign reports whether an event is none of Linkledger although its stream is named like one:
// the event store has put it there, as a tombstone, or PostgreSQL cannot hold the name.
func IsForeign(r eventstore.Recorded) bool {
	return r.IsSystem() || !utf8.ValidString(r.Stream) || strings.ContainsRune(r.Stream, 0)
}

// Each hands the facts to step in their order and names the one it fails at.
func Each(facts []Event, step func(Event) error) error {
	for _, f := range facts {
		if err := step(f); err != nil {
			return NewEventError(f.Recorded, f.Index, err)
		}
	}
	return nil
}

// Subject returns the id that follows the prefix in the fact's stream.
func (f Event) Subject(prefix string) (uuid.UUID, error) {
	id, ok := strings.CutPrefix(f.Stream, prefix)
	if !ok {
		return uuid.Nil, fmt.Errorf("%w: it lies in stream %s", ErrContradiction, f.Stream)
	}
	return ParseID(id)
}

// CommitPosition returns the commit position as PostgreSQL stores it.
func (f Event) CommitPosition() int64 { return sqlbatch.Signed(f.Position.Commit) }

// ParseID reads an id of a stored event.
func ParseID(text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil {
		return uuid.Nil, fmt.Errorf("id %q: %w", text, err)
	}
	return id, nil
}

// ParseIDs reads ids of a stored event.
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

// ParseDate reads a date of a stored event; empty is nil.
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

// CheckTime refuses a time that no event was recorded at, or that PostgreSQL can't hold.
func CheckTime(at time.Time) error {
	if at.IsZero() {
		return fmt.Errorf("%w: it has no time", ErrContradiction)
	}
	return checkYear(at.UTC())
}

func checkYear(t time.Time) error {
	if t.Year() < 1 || t.Year() > 9999 {
		return fmt.Errorf("%w: there is no year %d", ErrContradiction, t.Year())
	}
	return nil
}

// Unexpected refuses a fact of a type that its stream never holds.
func Unexpected(f Event) error {
	return fmt.Errorf("%w: %s has no place in stream %s", ErrContradiction, f.Type, f.Stream)
}
