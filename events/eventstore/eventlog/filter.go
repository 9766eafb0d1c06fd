package eventlog

import (
	"slices"
	"strings"
)

// Filter selects events of the log by prefixes of stream names or of event types. The zero value
// selects all events.
type Filter struct {
	Streams []string
	Types   []string // if not empty, Streams is ignored
}

// Matches reports whether the filter selects an event.
func (f Filter) Matches(r Recorded) bool {
	subject, prefixes := r.Stream, f.Streams
	if len(f.Types) > 0 {
		subject, prefixes = r.Type, f.Types
	}
	return len(prefixes) == 0 || slices.ContainsFunc(
		prefixes, func(prefix string) bool { return strings.HasPrefix(subject, prefix) },
	)
}
