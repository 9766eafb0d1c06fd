package projections

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
)

// fact is a stored event with its decoded body.
type fact struct {
	eventstore.Recorded
	body  events.Event // nil for a raw projection
	index int          // in its batch
}

// facts decodes events. It leaves out those that Linkledger did not write.
func (p projection) facts(recorded []eventstore.Recorded) ([]fact, error) {
	facts := make([]fact, 0, len(recorded))
	for i, r := range recorded {
		if !p.raw && isForeign(r) {
			continue
		}
		f := fact{Recorded: r, index: i}
		if !p.raw {
			var err error
			if f.body, err = r.Event(); err != nil {
				return nil, newEventError(r, i, errors.Unwrap(err)) // which names the event too
			}
		}
		facts = append(facts, f)
	}
	return facts, nil
}

// isForeign reports whether an event is none of Linkledger although its stream is named like one: the event store has put it
// there, as a tombstone, or PostgreSQL cannot hold the name.
func isForeign(r eventstore.Recorded) bool {
	return r.IsSystem() || !utf8.ValidString(r.Stream) || strings.ContainsRune(r.Stream, 0)
}

// foldEach hands the facts to step in their order and names the one it fails at.
func foldEach(facts []fact, step func(fact) error) error {
	for _, f := range facts {
		if err := step(f); err != nil {
			return newEventError(f.Recorded, f.index, err)
		}
	}
	return nil
}

// subject returns the id that follows the prefix in the fact's stream.
func (f fact) subject(prefix string) (uuid.UUID, error) {
	id, ok := strings.CutPrefix(f.Stream, prefix)
	if !ok {
		return uuid.Nil, fmt.Errorf("%w: it lies in stream %s", ErrContradiction, f.Stream)
	}
	return parseID(id)
}

// commit returns the commit position as PostgreSQL stores it.
func (f fact) commit() int64 { return signed(f.Position.Commit) }

func parseID(text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil {
		return uuid.Nil, fmt.Errorf("id %q: %w", text, err)
	}
	return id, nil
}

func parseIDs(texts []string) ([]uuid.UUID, error) {
	ids := make([]uuid.UUID, len(texts))
	for i, text := range texts {
		var err error
		if ids[i], err = parseID(text); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// parseDate reads a date of a stored event; empty is nil.
func parseDate(text string) (*time.Time, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // no date is a value
	}
	date, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return nil, err
	}
	return &date, checkYear(date)
}

// checkTime refuses a time that no event was recorded at, or that PostgreSQL can't hold.
func checkTime(at time.Time) error {
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

// errUnexpected refuses a fact of a type that its stream never holds.
func errUnexpected(f fact) error {
	return fmt.Errorf("%w: %s has no place in stream %s", ErrContradiction, f.Type, f.Stream)
}
