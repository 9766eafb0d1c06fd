package projections

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
)

// Names of the projections.
const (
	Links      = "links"
	Tags       = "tags"
	Accounts   = "accounts"
	Dimensions = "dimensions"
	Tree       = "tree"
	History    = "history"
)

// restPatience is the least time between two batches of a live projection that rests: who asks for the past, and means just
// now, waits for it.
const restPatience = 100 * time.Millisecond

// clickPatience is how long clicks wait to be counted when there are very many: then they meet in fewer rows.
const clickPatience = 2 * time.Second

// projection is one read model: what it follows and how a batch gets into its tables.
type projection struct {
	name   string
	filter eventstore.Filter
	fold   func() fold
	raw    bool // the fold takes facts without their bodies
	keeps  bool // the fold puts into bulk what it changes, and finds it there
	held   bool // events that nobody waits for may be held: the fold may be given them without read
	// patient tells of events that nobody waits for; nil: somebody waits for each.
	patient                  func(eventstore.Recorded) bool
	rests                    bool          // nobody waits for any
	minPatience, maxPatience time.Duration // see subscription.Config
}

// fold takes the facts of one batch into the tables: it reads the rows that they touch, changes them in memory, and
// writes what came of it.
type fold interface {
	// read queues the questions for the rows that the facts touch, as far as there can be any.
	read(s *statements, facts []fact)
	// step takes in the next fact, or refuses it.
	step(f fact) error
	// size is about how many rows write has to write.
	size() int
	// write queues what brings the tables up to date, and returns the keys that readmodel.Channel has to announce.
	write(s *statements) (changed []string)
}

// all returns the projections of this program.
func all() []projection {
	return []projection{
		{
			name: Links, filter: streams(events.StreamURL, events.StreamClicks, events.StreamAccount), keeps: true,
			fold: withNotes(Links, newLinkFold), held: true, patient: isClicks, maxPatience: clickPatience,
		},
		{name: Tags, filter: streams(events.StreamTags), fold: newTagFold},
		{name: Accounts, filter: streams(events.StreamAccount), fold: newAccountFold},
		{
			name: Dimensions, fold: newDimensionFold, held: true,
			filter: types(events.ClicksRecorded{}, events.URLStatsReset{}, events.URLStatsRestored{}),
			rests:  true, minPatience: restPatience, maxPatience: dimensionPatience,
		},
		{name: Tree, fold: newTreeFold, raw: true, rests: true, minPatience: treePatience},
		{
			name: History, fold: withNotes(History, newHistoryFold),
			filter: streams(events.StreamURL, events.StreamTags, events.StreamAccount),
			rests:  true, minPatience: restPatience,
		},
	}
}

func streams(prefixes ...string) eventstore.Filter { return eventstore.Filter{Streams: prefixes} }

func types(of ...events.Event) (f eventstore.Filter) {
	for _, e := range of {
		f.Types = append(f.Types, e.EventType())
	}
	return f
}

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

// signed converts a position to PostgreSQL's bigint. A log has far less than 2^63 bytes.
func signed(position uint64) int64 { return int64(position) } //nolint:gosec // see above

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
