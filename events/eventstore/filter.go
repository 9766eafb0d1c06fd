package eventstore

import (
	"slices"
	"strings"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
)

// Filter selects events of the log, by the beginnings of the names of their streams or by those of their types.
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
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(subject, prefix) })
}

func (f Filter) option() *esdb.SubscriptionFilter {
	if len(f.Types) > 0 {
		return &esdb.SubscriptionFilter{Type: esdb.EventFilterType, Prefixes: f.Types}
	}
	return &esdb.SubscriptionFilter{Type: esdb.StreamFilterType, Prefixes: f.Streams}
}
