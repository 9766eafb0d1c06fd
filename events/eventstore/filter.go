package eventstore

import (
	"slices"
	"strings"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
)

// Filter selects events of the log, by the beginnings of the names of their streams or by those of their types. The zero
// value selects all events but those of the event store itself.
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
	return len(prefixes) == 0 || slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(subject, prefix) })
}

// apply has a subscription give the selected events. Without a filter it gives those of the event store too.
func (f Filter) apply(to *streams.ReadReq_Options) {
	if len(f.Streams)+len(f.Types) == 0 {
		to.FilterOption = &streams.ReadReq_Options_NoFilter{NoFilter: &shared.Empty{}}
		return
	}
	filter := &streams.ReadReq_Options_FilterOptions{
		Filter: &streams.ReadReq_Options_FilterOptions_StreamIdentifier{
			StreamIdentifier: &streams.ReadReq_Options_FilterOptions_Expression{Prefix: f.Streams},
		},
		Window:                       &streams.ReadReq_Options_FilterOptions_Max{Max: searchWindow},
		CheckpointIntervalMultiplier: 1,
	}
	if len(f.Types) > 0 {
		filter.Filter = &streams.ReadReq_Options_FilterOptions_EventType{
			EventType: &streams.ReadReq_Options_FilterOptions_Expression{Prefix: f.Types},
		}
	}
	to.FilterOption = &streams.ReadReq_Options_Filter{Filter: filter}
}
