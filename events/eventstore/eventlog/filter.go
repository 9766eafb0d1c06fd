package eventlog

import (
	"slices"
	"strings"
)

// Filter selects events of the log, by the beginnings of the names of their streams or by those of
// their types. The zero value selects all events but those of the event store itself.
type Filter struct {
	Streams []string
	Types   []string // where there are some, they alone count
}

// Matches tells whether an event is selected.
func (f Filter) Matches(r Recorded) bool {
	subject, prefixes := r.Stream, f.Streams
	if len(f.Types) > 0 {
		subject, prefixes = r.Type, f.Types
	}
	return len(prefixes) == 0 || slices.ContainsFunc(
		prefixes, func(prefix string) bool { return strings.HasPrefix(subject, prefix) },
	)
}
