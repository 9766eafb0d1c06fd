package proof

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

// mostCuts bounds how many findings Streams keeps. What is beyond is counted.
const mostCuts = 1000

// Cut is what keeps readers of a stream from its events, or what does not belong in it.
type Cut struct {
	Kind     CutKind
	Stream   string
	Position eventstore.Position // of the event that shows it
	Revision eventstore.Revision // of that event
	Details  string              // for people
}

// CutKind is a kind of Cut.
type CutKind string

// The kinds of Cut.
const (
	// Missing is an event that does not have the next revision of its stream: others are missing
	// before it.
	Missing CutKind = "missing"
	// Hidden is metadata of a stream by which the event store hides events from its readers.
	Hidden CutKind = "hidden"
	// Tombstoned is a stream that nobody can read any more.
	Tombstoned CutKind = "tombstoned"
	// Foreign is an event of the event store itself in a stream of Linkledger.
	Foreign CutKind = "foreign"
)

// Streams checks that the events of each stream of Linkledger are in the log from the first one on
// and without gaps, and finds what hides them from readers of the stream. It takes 16 to 32 bytes
// of memory for each stream.
type Streams struct {
	last *revisions

	hidden map[string]Cut // by what metadata says now, by stream
	cuts   []Cut          // the others
	more   int64
	// streams that set the rights of readers in general, and their last event
	notices map[string]eventstore.Position
}

// NewStreams begins a check.
func NewStreams() *Streams {
	return &Streams{
		last: newRevisions(), hidden: make(map[string]Cut),
		notices: make(map[string]eventstore.Position),
	}
}

// Take takes in the next events of the log, with those of the event store itself.
func (s *Streams) Take(batch []eventstore.Recorded) {
	for _, r := range batch {
		of, isMetadata := metadata.Of(r.Stream)
		switch {
		case isMetadata && events.IsStream(of):
			s.metadata(of, r)
		case r.Stream == "$settings" || of == "$all":
			s.notices[r.Stream] = r.Position
		case events.IsStream(r.Stream):
			s.event(r)
		}
	}
}

func (s *Streams) metadata(of string, r eventstore.Recorded) {
	delete(s.hidden, of)
	by := metadata.HiddenBy(r.Data)
	if len(by) == 0 {
		return
	}
	if len(s.hidden) == mostCuts {
		s.more++
		return
	}
	s.hidden[of] = Cut{
		Kind: Hidden, Stream: of, Position: r.Position, Revision: r.Revision,
		Details: strings.Join(by, ", "),
	}
}

func (s *Streams) event(r eventstore.Recorded) {
	if r.Type == metadata.TypeTombstone && r.Revision == math.MaxInt64 {
		s.found(Tombstoned, r, "the stream has a tombstone")
		return
	}
	if expected := s.last.set(r.Stream, r.Revision); expected != r.Revision {
		s.found(
			Missing, r,
			fmt.Sprintf("event %d comes where event %d should be", r.Revision, expected),
		)
	}
	if r.IsSystem() {
		s.found(Foreign, r, fmt.Sprintf("an event of type %q", r.Type))
	}
}

func (s *Streams) found(kind CutKind, r eventstore.Recorded, details string) {
	if len(s.cuts) == mostCuts {
		s.more++
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

// Last returns the revision of the last event that the log has of a stream; NoStream: it has none.
func (s *Streams) Last(stream string) eventstore.Revision { return s.last.last(stream) }

// Cuts returns what was found, in the order of the log, and how many more there are.
func (s *Streams) Cuts() (cuts []Cut, more int64) {
	cuts = slices.Concat(s.cuts, slices.Collect(maps.Values(s.hidden)))
	slices.SortFunc(cuts, func(a, b Cut) int {
		return cmp.Or(
			cmp.Compare(a.Position.Commit, b.Position.Commit), cmp.Compare(a.Kind, b.Kind),
		)
	})
	return cuts, s.more
}

// Notices are the streams that set the rights of readers in general. They are no damage, and a
// reader that they keep from a stream is refused; yet an auditor may want to know.
func (s *Streams) Notices() []string { return slices.Sorted(maps.Keys(s.notices)) }
