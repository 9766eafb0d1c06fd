package proof

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"maps"
	"math"
	"slices"
	"strings"

	"linkledger/events"
	"linkledger/events/eventstore"
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
	// Missing is an event of the log whose predecessor in its stream is not in the log before it.
	Missing CutKind = "missing"
	// Hidden is metadata of a stream by which the event store hides events from its readers.
	Hidden CutKind = "hidden"
	// Tombstoned is a stream that nobody can read any more.
	Tombstoned CutKind = "tombstoned"
	// Foreign is an event of the event store itself in a stream of Linkledger.
	Foreign CutKind = "foreign"
)

// Streams checks that the events of each stream of Linkledger are in the log from the first one on and without gaps, and finds
// what hides them from readers of the stream. It takes about 20 bytes of memory for each stream.
type Streams struct {
	seed maphash.Seed
	last map[uint64]struct{} // a key for the last event of each stream
	most eventstore.Revision // of all events

	hidden  map[string]Cut // by what metadata says now, by stream
	cuts    []Cut          // the others
	more    int64
	notices map[string]eventstore.Position // streams that set the rights of readers in general, and their last event
}

// NewStreams begins a check.
func NewStreams() *Streams {
	return &Streams{
		seed: maphash.MakeSeed(), last: make(map[uint64]struct{}), hidden: make(map[string]Cut),
		notices: make(map[string]eventstore.Position),
	}
}

// key stands for an event. The seed keeps anybody from choosing names of streams whose keys are the same.
func (s *Streams) key(stream string, revision eventstore.Revision) uint64 {
	return maphash.String(s.seed, stream) + uint64(revision)*0x9e3779b97f4a7c15 //nolint:gosec // any bits will do
}

// Take takes in the next events of the log, with those of the event store itself.
func (s *Streams) Take(batch []eventstore.Recorded) {
	for _, r := range batch {
		of, isMetadata := eventstore.MetadataOf(r.Stream)
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
	by := eventstore.HiddenBy(r.Data)
	if len(by) == 0 {
		return
	}
	if len(s.hidden) == mostCuts {
		s.more++
		return
	}
	s.hidden[of] = Cut{Kind: Hidden, Stream: of, Position: r.Position, Revision: r.Revision, Details: strings.Join(by, ", ")}
}

func (s *Streams) event(r eventstore.Recorded) {
	if r.Type == eventstore.TypeTombstone && r.Revision == math.MaxInt64 {
		s.found(Tombstoned, r, "the stream has a tombstone")
		return
	}
	key := s.key(r.Stream, r.Revision)
	if r.Revision > 0 {
		before := s.key(r.Stream, r.Revision-1)
		if _, ok := s.last[before]; !ok {
			s.found(Missing, r, fmt.Sprintf("event %d is not in the log before event %d", r.Revision-1, r.Revision))
		}
		delete(s.last, before)
	}
	s.last[key] = struct{}{}
	s.most = max(s.most, r.Revision)
	if r.IsSystem() {
		s.found(Foreign, r, fmt.Sprintf("an event of type %q", r.Type))
	}
}

func (s *Streams) found(kind CutKind, r eventstore.Recorded, details string) {
	if len(s.cuts) == mostCuts {
		s.more++
		return
	}
	s.cuts = append(s.cuts, Cut{Kind: kind, Stream: r.Stream, Position: r.Position, Revision: r.Revision, Details: details})
}

// Last returns the revision of the last event that the log has of a stream; false: it has none.
func (s *Streams) Last(stream string) (eventstore.Revision, bool) {
	for revision := range s.most + 1 {
		if _, ok := s.last[s.key(stream, revision)]; ok {
			return revision, true
		}
	}
	return eventstore.NoStream, false
}

// Cuts returns what was found, in the order of the log, and how many more there are.
func (s *Streams) Cuts() (cuts []Cut, more int64) {
	cuts = slices.Concat(s.cuts, slices.Collect(maps.Values(s.hidden)))
	slices.SortFunc(cuts, func(a, b Cut) int {
		return cmp.Or(cmp.Compare(a.Position.Commit, b.Position.Commit), cmp.Compare(a.Kind, b.Kind))
	})
	return cuts, s.more
}

// Notices are the streams that set the rights of readers in general. They are no damage, and a reader that they keep from a stream
// is refused; yet an auditor may want to know.
func (s *Streams) Notices() []string { return slices.Sorted(maps.Keys(s.notices)) }
