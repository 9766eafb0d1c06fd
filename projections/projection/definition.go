package projection

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/projections/keystore/keyfile"
	"linkledger/projections/sqlbatch"
	"linkledger/robots"
)

// Definition describes one projection.
type Definition struct {
	Name   string
	Filter eventstore.Filter
	Folds  func(Given) Folds // returns the source of the folds of one generation
	Judges bool              // the folds count clicks; Given.Judgement says which are a robot's
	Raw    bool              // the fold takes events without their bodies
	// Buffered means that events may be buffered if no reader waits for them. The fold MUST then
	// accept these events without Read.
	Buffered bool
	// Alone reports whether an event is applied alone: after all events before it, and before all
	// events after it. Rows that were cached before that event are discarded. If Alone is nil, no
	// event is applied alone.
	Alone func(eventstore.Recorded) bool
	// Outlasts reports whether an event is applied although an earlier event of its stream is set
	// aside, see Event.Detached. If Outlasts is nil, no event is.
	Outlasts func(events.Event) bool
	// Delayable reports whether an event may wait to be batched. If Delayable is nil, no event may.
	Delayable          func(eventstore.Recorded) bool
	NeverAwaited       bool          // no reader waits for any event
	MinDelay, MaxDelay time.Duration // see subscription.Config
}

// Given is what the folds of a generation get.
type Given struct {
	Master    *keyfile.MasterKey // wraps the keys of accounts; nil: none was given
	Judgement *robots.Judgement  // of clicks; nil: they keep their verdicts
}

// Folds creates the folds of one generation, one for each batch. It holds their shared state, such
// as the keys of accounts.
type Folds interface {
	Next() Fold
	// Loader returns the source of the folds for a bulk load. If it returns nil, Next is used.
	Loader() Loader
}

// Loader creates folds for a bulk load. No other process changes the tables meanwhile, so a loader
// may cache recently changed rows instead of reading them. It may leave out derived tables, which
// readmodel.Complete fills at the end.
type Loader interface {
	Next() Fold
	// Begin prepares the cache for the next transaction. The previous one is committed.
	Begin()
	// PendingBytes returns the size of the cached rows that are not written yet, in bytes.
	PendingBytes() int
}

// independent creates folds that share nothing.
type independent func() Fold

func (f independent) Next() Fold { return f() }

func (f independent) Loader() Loader { return nil }

// FoldsOf returns the Folds of a projection whose folds share nothing.
func FoldsOf(of func() Fold) func(Given) Folds {
	return FoldsGiven(func(Given) Fold { return of() })
}

// FoldsGiven is FoldsOf for folds that need a Given.
func FoldsGiven(of func(Given) Fold) func(Given) Folds {
	return func(given Given) Folds { return independent(func() Fold { return of(given) }) }
}

// Fold applies the events of one batch. It reads the rows that the events change, changes the rows
// in memory, and writes them.
type Fold interface {
	// Read queues the queries for the existing rows that the events change.
	Read(s *sqlbatch.Batch, batch []Event)
	// Apply applies the next event in memory. It fails if the event contradicts earlier ones.
	Apply(e Event) error
	// Size returns approximately how many rows Write has to write.
	Size() int
	// Write queues the statements that update the tables. It returns the keys that have changed,
	// for the notification on readmodel.Channel.
	Write(s *sqlbatch.Batch) (changed []string)
}

// Set is the list of projections of a program.
type Set []Definition

// Named returns a projection by name, or ErrUnknown.
func (s Set) Named(name string) (Definition, error) {
	for _, p := range s {
		if p.Name == name {
			return p, nil
		}
	}
	return Definition{}, fmt.Errorf("%w %q", ErrUnknown, name)
}

// Names returns the names of all projections.
func (s Set) Names() []string {
	names := make([]string, len(s))
	for i, p := range s {
		names[i] = p.Name
	}
	return names
}

// Streams returns a filter of the streams whose names begin with one of the prefixes.
func Streams(prefixes ...string) eventstore.Filter { return eventstore.Filter{Streams: prefixes} }

// Types returns a filter of event types.
func Types(of ...events.Event) (f eventstore.Filter) {
	for _, e := range of {
		f.Types = append(f.Types, e.EventType())
	}
	return f
}

// IsAlone reports whether an event is applied alone, see Alone.
func (p Definition) IsAlone(r eventstore.Recorded) bool { return p.Alone != nil && p.Alone(r) }

// Cut divides events into parts. Each event that is applied alone is a part of its own.
func Cut[E any](p Definition, all []E, recorded func(E) eventstore.Recorded) [][]E {
	var parts [][]E
	begin := 0
	for i, e := range all {
		if !p.IsAlone(recorded(e)) {
			continue
		}
		if i > begin {
			parts = append(parts, all[begin:i])
		}
		parts = append(parts, all[i:i+1])
		begin = i + 1
	}
	if begin < len(all) || begin == 0 {
		parts = append(parts, all[begin:])
	}
	return parts
}

// Apply applies events to the tables of a schema, and returns the keys that have changed: see
// Fold.Write.
func (p Definition) Apply(
	ctx context.Context, conn *pgx.Conn, schema string, folds Folds, batch []Event,
) (changed []string, err error) {
	for _, part := range Cut(p, batch, func(f Event) eventstore.Recorded { return f.Recorded }) {
		folding, reading, writing := folds.Next(), sqlbatch.New(schema), sqlbatch.New(schema)
		folding.Read(reading, part)
		if err := reading.Send(ctx, conn); err != nil {
			return nil, err
		}
		if err := Each(part, folding.Apply); err != nil {
			return nil, err
		}
		changed = append(changed, folding.Write(writing)...)
		if err := writing.Send(ctx, conn); err != nil {
			return nil, err
		}
	}
	return changed, nil
}
