package projection

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
)

// Definition is one read model: what it follows and how a batch gets into its tables.
type Definition struct {
	Name   string
	Filter eventstore.Filter
	// Folds returns what makes the folds of one generation. The key is that of the accounts' keys;
	// nil: none was given.
	Folds func(master *readmodel.MasterKey) Folds
	Raw   bool // the fold takes facts without their bodies
	Held  bool // events that nobody waits for may be held: the fold may be given them without read
	// Alone reports whether an event is applied alone, after all that precedes it and before
	// anything that follows. What was known of the tables before it is not known any more. nil: no
	// event is.
	Alone func(eventstore.Recorded) bool
	// Patient tells of events that nobody waits for; nil: somebody waits for each.
	Patient                  func(eventstore.Recorded) bool
	Rests                    bool          // nobody waits for any
	MinPatience, MaxPatience time.Duration // see subscription.Config
}

// Folds makes the folds of one generation, one for each batch. It holds what they share, such as
// the keys of accounts.
type Folds interface {
	Next() Fold
	// Loader returns what makes the folds while the generation is filled in bulk; nil: next does.
	Loader() Loader
}

// Loader makes folds that fill a generation in bulk. Nobody else changes its tables, so a loader
// knows rows that were touched of late, and the folds need not ask for them. What the folds leave
// out comes from readmodel.Complete at the end.
type Loader interface {
	Next() Fold
	// Begin makes room for what the next transaction writes. What the one before wrote is in the
	// tables by now.
	Begin()
	// Touched is how many bytes the known rows take that are to be written.
	Touched() int
}

// independent makes folds that share nothing.
type independent func() Fold

func (f independent) Next() Fold { return f() }

func (f independent) Loader() Loader { return nil }

// FoldsOf returns the folds of a projection that share nothing.
func FoldsOf(of func() Fold) func(*readmodel.MasterKey) Folds {
	return func(*readmodel.MasterKey) Folds { return independent(of) }
}

// Fold takes the facts of one batch into the tables: it reads the rows that they touch, changes
// them in memory, and writes what came of it.
type Fold interface {
	// Read queues the questions for the rows that the facts touch, as far as there can be any.
	Read(s *sqlbatch.Batch, facts []Event)
	// Apply takes in the next fact, or refuses it.
	Apply(f Event) error
	// Size is about how many rows write has to write.
	Size() int
	// Write queues what brings the tables up to date, and returns the keys that readmodel.Channel
	// has to announce.
	Write(s *sqlbatch.Batch) (changed []string)
}

// Set are the projections of a program.
type Set []Definition

// Named returns the projection of that name, or ErrUnknown.
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

// Types returns a filter of types of events.
func Types(of ...events.Event) (f eventstore.Filter) {
	for _, e := range of {
		f.Types = append(f.Types, e.EventType())
	}
	return f
}

// Cut cuts events into parts, of which each event that is applied alone is one.
func Cut[E any](p Definition, all []E, recorded func(E) eventstore.Recorded) [][]E {
	var parts [][]E
	begin := 0
	for i, e := range all {
		if p.Alone == nil || !p.Alone(recorded(e)) {
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

// Apply takes facts into the tables of a schema, and returns the keys to announce.
func (p Definition) Apply(
	ctx context.Context, conn *pgx.Conn, schema string, folds Folds, facts []Event,
) (changed []string, err error) {
	for _, part := range Cut(p, facts, func(f Event) eventstore.Recorded { return f.Recorded }) {
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
