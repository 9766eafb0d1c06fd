package request

import (
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"

	"linkledger/events/embedded/dialect"
	"linkledger/events/embedded/failure"
	"linkledger/events/embedded/revision"
)

// allStream is the name of the whole log. Clients can read it like a stream, but not write to it.
const allStream = "$all"

// ParseAppend parses the options of an append. The append has no events yet.
func ParseAppend(opts *streams.AppendReq_Options) (*Append, error) {
	if opts == nil {
		return nil, dialect.Malformed("an append must begin with its options")
	}
	d := &Append{}
	var err error
	if d.Stream, err = WritableStream(opts.GetStreamIdentifier()); err != nil {
		return nil, err
	}
	switch e := opts.GetExpectedStreamRevision().(type) {
	case *streams.AppendReq_Options_Revision:
		d.Expected, err = exactRevision(e.Revision)
	case *streams.AppendReq_Options_NoStream:
		d.Expected = revision.NoStream
	case *streams.AppendReq_Options_Any:
		d.Expected = revision.Any
	case *streams.AppendReq_Options_StreamExists:
		d.Expected = revision.StreamExists
	default:
		err = errNoExpectation
	}
	return d, err
}

var errNoExpectation = dialect.Invalid("the expected revision is missing")

// WritableStream returns the name of a stream to write to, or an error if it is not valid or cannot
// be written to.
func WritableStream(id *shared.StreamIdentifier) (string, error) {
	name, err := streamName(id)
	if err == nil && name == allStream {
		err = failure.ErrDenied
	}
	return name, err
}

// BatchTimeout is the longest time that a batch may take. It is the write timeout of EventStoreDB.
const BatchTimeout = 2 * time.Second

// BatchExpectation returns the expected revision of a batch.
func BatchExpectation(opts *streams.BatchAppendReq_Options) (int64, error) {
	switch e := opts.GetExpectedStreamPosition().(type) {
	case *streams.BatchAppendReq_Options_StreamPosition:
		return exactRevision(e.StreamPosition)
	case *streams.BatchAppendReq_Options_NoStream:
		return revision.NoStream, nil
	case *streams.BatchAppendReq_Options_Any:
		return revision.Any, nil
	case *streams.BatchAppendReq_Options_StreamExists:
		return revision.StreamExists, nil
	}
	return 0, errNoExpectation
}

// BatchDeadline returns how long the batch may take from now, at most BatchTimeout.
func BatchDeadline(opts *streams.BatchAppendReq_Options, now time.Time) time.Duration {
	timeout := BatchTimeout
	switch d := opts.GetDeadlineOption().(type) {
	case *streams.BatchAppendReq_Options_Deadline:
		timeout = d.Deadline.AsDuration()
	case *streams.BatchAppendReq_Options_Deadline_21_10_0:
		timeout = d.Deadline_21_10_0.AsTime().Sub(now)
	}
	return min(timeout, BatchTimeout)
}

// DeleteExpectation returns the expected revision of a deletion.
func DeleteExpectation(opts *streams.DeleteReq_Options) (int64, error) {
	switch e := opts.GetExpectedStreamRevision().(type) {
	case *streams.DeleteReq_Options_Revision:
		return exactRevision(e.Revision)
	case *streams.DeleteReq_Options_NoStream:
		return revision.NoStream, nil
	case *streams.DeleteReq_Options_Any:
		return revision.Any, nil
	case *streams.DeleteReq_Options_StreamExists:
		return revision.StreamExists, nil
	}
	return 0, errNoExpectation
}

// TombstoneExpectation returns the expected revision of a tombstone.
func TombstoneExpectation(opts *streams.TombstoneReq_Options) (int64, error) {
	switch e := opts.GetExpectedStreamRevision().(type) {
	case *streams.TombstoneReq_Options_Revision:
		return exactRevision(e.Revision)
	case *streams.TombstoneReq_Options_NoStream:
		return revision.NoStream, nil
	case *streams.TombstoneReq_Options_Any:
		return revision.Any, nil
	case *streams.TombstoneReq_Options_StreamExists:
		return revision.StreamExists, nil
	}
	return 0, errNoExpectation
}
