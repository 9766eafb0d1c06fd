package wire

import (
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"

	"linkledger/events/eventstore/eventlog"
)

// EventsOf asks for so many events of a stream from a revision on.
func EventsOf(stream string, from eventlog.Revision, count uint64) *streams.ReadReq_Options {
	return &streams.ReadReq_Options{
		StreamOption: &streams.ReadReq_Options_Stream{Stream: &streams.ReadReq_Options_StreamOptions{
			StreamIdentifier: &shared.StreamIdentifier{StreamName: []byte(stream)},
			//nolint:gosec // not negative
			RevisionOption: &streams.ReadReq_Options_StreamOptions_Revision{Revision: uint64(from)},
		}},
		CountOption: &streams.ReadReq_Options_Count{Count: count},
	}
}

// LastOf asks for the last event of a stream.
func LastOf(stream string) *streams.ReadReq_Options {
	return &streams.ReadReq_Options{
		StreamOption: &streams.ReadReq_Options_Stream{Stream: &streams.ReadReq_Options_StreamOptions{
			StreamIdentifier: &shared.StreamIdentifier{StreamName: []byte(stream)},
			RevisionOption:   &streams.ReadReq_Options_StreamOptions_End{End: &shared.Empty{}},
		}},
		ReadDirection: streams.ReadReq_Options_Backwards,
		CountOption:   &streams.ReadReq_Options_Count{Count: 1},
	}
}

// LastOfLog asks for the last event of all streams.
func LastOfLog() *streams.ReadReq_Options {
	return &streams.ReadReq_Options{
		StreamOption: &streams.ReadReq_Options_All{All: &streams.ReadReq_Options_AllOptions{
			AllOption: &streams.ReadReq_Options_AllOptions_End{End: &shared.Empty{}},
		}},
		ReadDirection: streams.ReadReq_Options_Backwards,
		CountOption:   &streams.ReadReq_Options_Count{Count: 1},
	}
}

// EventAt asks for the event at a position.
func EventAt(position eventlog.Position) *streams.ReadReq_Options {
	return &streams.ReadReq_Options{
		StreamOption: FromPosition(position),
		CountOption:  &streams.ReadReq_Options_Count{Count: 1},
	}
}

// searchWindow is how many events the server looks at between two pages of a filtered subscription.
// The official client's default of 32 would cost a round of paging for every 32 events that do not
// match.
const searchWindow = 4096

// FromPosition begins at a position, whose event belongs to a read and not to a subscription. The
// zero position is the start of the log.
func FromPosition(position eventlog.Position) *streams.ReadReq_Options_All {
	from := &streams.ReadReq_Options_AllOptions{
		AllOption: &streams.ReadReq_Options_AllOptions_Start{Start: &shared.Empty{}},
	}
	if position != (eventlog.Position{}) {
		from.AllOption = &streams.ReadReq_Options_AllOptions_Position{Position: &streams.ReadReq_Options_Position{
			CommitPosition: position.Commit, PreparePosition: position.Prepare,
		}}
	}
	return &streams.ReadReq_Options_All{All: from}
}

// ApplyFilter has a subscription give the selected events. Without a filter it gives those of the
// event store too.
func ApplyFilter(f eventlog.Filter, to *streams.ReadReq_Options) {
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
