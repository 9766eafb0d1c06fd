// Package streamcheck checks that readers of the streams of Linkledger see all events that the log
// has: each stream begins with its first event, has no gaps, and hides nothing. The package is
// given the events of the log. It reads no stream and repairs nothing.
package streamcheck

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/metadata"
)

// maxCuts is how many findings Check keeps. It only counts further ones.
const maxCuts = 1000

// Cut is a finding: something that keeps readers from events of a stream, or an event that does not
// belong in the stream.
type Cut struct {
	Kind     Kind
	Stream   string
	Position eventstore.Position // of the event that shows the cut
	Revision eventstore.Revision // of that event
	Details  string              // human-readable
}

// Kind is a kind of Cut.
type Kind string

// The kinds of Cut.
const (
	// Missing marks an event that does not have the next revision of its stream: events before it
	// are missing.
	Missing Kind = "missing"
	// Hidden marks metadata that makes the event store hide events of a stream from readers.
	Hidden Kind = "hidden"
	// Tombstoned marks a stream that can no longer be read.
	Tombstoned Kind = "tombstoned"
	// Foreign marks an event of the event store itself in a stream of Linkledger.
	Foreign Kind = "foreign"
)

// Check checks that the log contains the events of each stream of Linkledger from the first on
// and without gaps. It also finds metadata that hides events from readers of a stream. It uses 16
// to 32 bytes of memory per stream.
type Check struct {
	last *revisions

	hidden  map[string]Cut // by stream, according to its latest metadata
	cuts    []Cut          // all other findings
	omitted int64          // number of findings beyond maxCuts
	// notices are the streams that set access rights for all streams, with the position of their
	// last event.
	notices map[string]eventstore.Position
}

// New returns an empty check.
func New() *Check {
	return &Check{
		last: newRevisions(), hidden: make(map[string]Cut),
		notices: make(map[string]eventstore.Position),
	}
}

// Add checks the next events of the log. Callers MUST pass all events in the order of the log,
// including events of the event store itself.
func (s *Check) Add(batch []eventstore.Recorded) {
	for _, r := range batch {
		of, isMetadata := metadata.Of(r.Stream)
		switch {
		case isMetadata && events.IsStream(of):
			s.addMetadata(of, r)
		case r.Stream == "$settings" || of == "$all":
			s.notices[r.Stream] = r.Position
		case events.IsStream(r.Stream):
			s.addEvent(r)
		}
	}
}

func (s *Check) addMetadata(of string, r eventstore.Recorded) {
	delete(s.hidden, of)
	by := metadata.HiddenBy(r.Data)
	if len(by) == 0 {
		return
	}
	if len(s.hidden) == maxCuts {
		s.omitted++
		return
	}
	s.hidden[of] = Cut{
		Kind: Hidden, Stream: of, Position: r.Position, Revision: r.Revision,
		Details: strings.Join(by, ", "),
	}
}

func (s *Check) addEvent(r eventstore.Recorded) {
	if r.Type == metadata.TypeTombstone && r.Revision == math.MaxInt64 {
		s.report(Tombstoned, r, "the stream has a tombstone")
		return
	}
	if expected := s.last.set(r.Stream, r.Revision); expected != r.Revision {
		s.report(
			Missing, r,
			fmt.Sprintf("event %d comes where event %d should be", r.Revision, expected),
		)
	}
	if r.IsSystem() {
		s.report(Foreign, r, fmt.Sprintf("an event of type %q", r.Type))
	}
}

func (s *Check) report(kind Kind, r eventstore.Recorded, details string) {
	if len(s.cuts) == maxCuts {
		s.omitted++
		return
	}
	s.cuts = append(
		s.cuts,
		Cut{
			Kind: kind, Stream: r.Stream, Position: r.Position, Revision: r.Revision,
			Details: details,
		},
	)
}

// Last returns the revision of the last event of a stream in the log, or NoStream if there is none.
func (s *Check) Last(stream string) eventstore.Revision { return s.last.last(stream) }

// Cuts returns the findings in the order of the log, and how many more there are.
func (s *Check) Cuts() (cuts []Cut, more int64) {
	cuts = slices.Concat(s.cuts, slices.Collect(maps.Values(s.hidden)))
	slices.SortFunc(cuts, func(a, b Cut) int {
		return cmp.Or(
			cmp.Compare(a.Position.Commit, b.Position.Commit), cmp.Compare(a.Kind, b.Kind),
		)
	})
	return cuts, s.omitted
}

// Notices returns the streams that set access rights for all streams. They are no damage: a reader
// that lacks a right is refused and not misled. An auditor may still want to know them.
func (s *Check) Notices() []string { return slices.Sorted(maps.Keys(s.notices)) }
