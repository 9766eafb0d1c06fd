package wire

import (
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"

	"linkledger/events/eventstore/eventlog"
)

// EventsOf requests up to count events of a stream from a revision on.
func EventsOf(stream string, from eventlog.Revision, count uint64) *streams.ReadReq_Options {
	return &streams.ReadReq_Options{
		StreamOption: streamOption(stream, &streams.ReadReq_Options_StreamOptions{
			//nolint:gosec // not negative
			RevisionOption: &streams.ReadReq_Options_StreamOptions_Revision{Revision: uint64(from)},
		}),
		CountOption: &streams.ReadReq_Options_Count{Count: count},
	}
}

// LastOf requests the last event of a stream.
func LastOf(stream string) *streams.ReadReq_Options {
	return &streams.ReadReq_Options{
		StreamOption: streamOption(stream, &streams.ReadReq_Options_StreamOptions{
			RevisionOption: &streams.ReadReq_Options_StreamOptions_End{End: &shared.Empty{}},
		}),
		ReadDirection: streams.ReadReq_Options_Backwards,
		CountOption:   &streams.ReadReq_Options_Count{Count: 1},
	}
}

func streamOption(
	stream string, options *streams.ReadReq_Options_StreamOptions,
) *streams.ReadReq_Options_Stream {
	options.StreamIdentifier = &shared.StreamIdentifier{StreamName: []byte(stream)}
	return &streams.ReadReq_Options_Stream{Stream: options}
}

// LastOfLog requests the last event of all streams.
func LastOfLog() *streams.ReadReq_Options {
	return &streams.ReadReq_Options{
		StreamOption: &streams.ReadReq_Options_All{All: &streams.ReadReq_Options_AllOptions{
			AllOption: &streams.ReadReq_Options_AllOptions_End{End: &shared.Empty{}},
		}},
		ReadDirection: streams.ReadReq_Options_Backwards,
		CountOption:   &streams.ReadReq_Options_Count{Count: 1},
	}
}

// EventAt requests the event at a position.
func EventAt(position eventlog.Position) *streams.ReadReq_Options {
	return &streams.ReadReq_Options{
		StreamOption: FromPosition(position),
		CountOption:  &streams.ReadReq_Options_Count{Count: 1},
	}
}

// SelectedFrom requests up to count events that a filter selects, from a position on.
func SelectedFrom(
	position eventlog.Position, filter eventlog.Filter, count uint64,
) *streams.ReadReq_Options {
	options := &streams.ReadReq_Options{
		StreamOption: FromPosition(position),
		CountOption:  &streams.ReadReq_Options_Count{Count: count},
	}
	ApplyFilter(filter, options)
	return options
}

// searchWindow is how many events the server examines between two pages of a filtered subscription.
// The default of the official client, 32, would cost a round of paging for every 32 events that do
// not match.
const searchWindow = 4096

// FromPosition makes a read or subscription start at a position. A read includes the event at the
// position, a subscription does not. The zero position is the start of the log.
func FromPosition(position eventlog.Position) *streams.ReadReq_Options_All {
	from := &streams.ReadReq_Options_AllOptions{
		AllOption: &streams.ReadReq_Options_AllOptions_Start{Start: &shared.Empty{}},
	}
	if position != (eventlog.Position{}) {
		from.AllOption = &streams.ReadReq_Options_AllOptions_Position{
			Position: &streams.ReadReq_Options_Position{
				CommitPosition: position.Commit, PreparePosition: position.Prepare,
			},
		}
	}
	return &streams.ReadReq_Options_All{All: from}
}

// ApplyFilter makes a subscription deliver only the selected events. With the zero Filter the
// subscription also delivers events of the event store itself.
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
