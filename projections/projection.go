package projections

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/projections/readmodel"
)

// projection is one read model: what it follows and how a batch gets into its tables.
type projection struct {
	name   string
	filter eventstore.Filter
	// folds returns what makes the folds of one generation. The key is that of the accounts' keys; nil: none was given.
	folds func(master *readmodel.MasterKey) folds
	raw   bool // the fold takes facts without their bodies
	held  bool // events that nobody waits for may be held: the fold may be given them without read
	// alone reports whether an event is applied alone, after all that precedes it and before anything that follows. What
	// was known of the tables before it is not known any more. nil: no event is.
	alone func(eventstore.Recorded) bool
	// patient tells of events that nobody waits for; nil: somebody waits for each.
	patient                  func(eventstore.Recorded) bool
	rests                    bool          // nobody waits for any
	minPatience, maxPatience time.Duration // see eventstore.SubscriberConfig
}

// folds makes the folds of one generation, one for each batch. It holds what they share, such as the keys of accounts.
type folds interface {
	next() fold
	// loader returns what makes the folds while the generation is filled in bulk; nil: next does.
	loader() loader
}

// loader makes folds that fill a generation in bulk. Nobody else changes its tables, so a loader knows rows that were
// touched of late, and the folds need not ask for them. What the folds leave out comes from readmodel.Complete at the end.
type loader interface {
	next() fold
	// begin makes room for what the next transaction writes. What the one before wrote is in the tables by now.
	begin()
	// touched is how many bytes the known rows take that are to be written.
	touched() int
}

// independent makes folds that share nothing.
type independent func() fold

func (f independent) next() fold { return f() }

func (f independent) loader() loader { return nil }

// foldsOf returns the folds of a projection that share nothing.
func foldsOf(of func() fold) func(*readmodel.MasterKey) folds {
	return func(*readmodel.MasterKey) folds { return independent(of) }
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

// projectionSet are the projections of a program.
type projectionSet []projection

// named returns the projection of that name, or ErrUnknownProjection.
func (s projectionSet) named(name string) (projection, error) {
	for _, p := range s {
		if p.name == name {
			return p, nil
		}
	}
	return projection{}, fmt.Errorf("%w %q", ErrUnknownProjection, name)
}

// names returns the names of all projections.
func (s projectionSet) names() []string {
	names := make([]string, len(s))
	for i, p := range s {
		names[i] = p.name
	}
	return names
}

// streams returns a filter of the streams whose names begin with one of the prefixes.
func streams(prefixes ...string) eventstore.Filter { return eventstore.Filter{Streams: prefixes} }

// types returns a filter of types of events.
func types(of ...events.Event) (f eventstore.Filter) {
	for _, e := range of {
		f.Types = append(f.Types, e.EventType())
	}
	return f
}

// cut cuts events into parts, of which each event that is applied alone is one.
func cut[E any](p projection, all []E, recorded func(E) eventstore.Recorded) [][]E {
	var parts [][]E
	begin := 0
	for i, e := range all {
		if p.alone == nil || !p.alone(recorded(e)) {
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

// apply takes facts into the tables of a schema, and returns the keys to announce.
func (p projection) apply(ctx context.Context, conn *pgx.Conn, schema string, folds folds, facts []fact) (changed []string, err error) {
	for _, part := range cut(p, facts, func(f fact) eventstore.Recorded { return f.Recorded }) {
		folding, reading, writing := folds.next(), newStatements(schema), newStatements(schema)
		folding.read(reading, part)
		if err := reading.send(ctx, conn); err != nil {
			return nil, err
		}
		if err := foldEach(part, folding.step); err != nil {
			return nil, err
		}
		changed = append(changed, folding.write(writing)...)
		if err := writing.send(ctx, conn); err != nil {
			return nil, err
		}
	}
	return changed, nil
}
