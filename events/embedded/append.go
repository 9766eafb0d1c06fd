package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
)

// allStream cannot be written to.
const allStream = "$all"

// maxDrain bounds what is read of an append that is refused already.
const maxDrain = 64 << 20

// draft is an append while its events arrive.
type draft struct {
	stream   string
	expected int64
	events   []proposed
	size     int
}

// add takes one more event, unless that makes the append larger than limit.
func (d *draft) add(m proposedMessage, limit int) error {
	p, err := parseProposed(m)
	if err != nil {
		return err
	}
	if d.size += p.appendSize(); d.size > limit {
		return &tooLargeError{limit}
	}
	if len(d.events) == maxAppendEvents {
		return invalid(fmt.Sprintf("the append has more than %d events", maxAppendEvents))
	}
	d.events = append(d.events, p)
	return nil
}

func (d *draft) plan(l *ledger) outcome { return l.planAppend(d.stream, d.expected, d.events) }

// Append writes events to the end of one stream, all or none.
func (s *streamsService) Append(call streams.Streams_AppendServer) error {
	ctx := call.Context()
	d, err := s.receiveAppend(call)
	if err != nil {
		return s.store.failure(ctx, err, nil)
	}
	out := s.store.writer.submit(ctx, d.size, d.plan)
	resp, err := appendResponse(out, d.expected)
	if err != nil {
		return failure(ctx, err)
	}
	return call.SendAndClose(resp)
}

func (s *streamsService) receiveAppend(call streams.Streams_AppendServer) (*draft, error) {
	first, err := call.Recv()
	if err != nil {
		return nil, invalidUnless(err, io.EOF, "an append begins with its options")
	}
	d, err := parseAppendOptions(first.GetOptions())
	if err != nil {
		return nil, drain(call, err)
	}
	for {
		req, err := call.Recv()
		if errors.Is(err, io.EOF) {
			return d, nil
		}
		if err != nil {
			return nil, err
		}
		message := req.GetProposedMessage()
		if message == nil {
			return nil, drain(call, invalid("only events follow the options of an append"))
		}
		if err := d.add(message, s.store.cfg.MaxAppendSize); err != nil {
			return nil, drain(call, err)
		}
	}
}

// drain discards the rest of a refused append. An answer to a client that is
// still sending would reach it as a bare EOF, without code and trailers.
func drain(call streams.Streams_AppendServer, refusal error) error {
	for size := 0; size < maxDrain; {
		req, err := call.Recv()
		if err != nil {
			return refusal
		}
		m := req.GetProposedMessage()
		size += len(m.GetData()) + len(m.GetCustomMetadata()) + 64
	}
	return refusal
}

func invalidUnless(err, target error, message string) error {
	if errors.Is(err, target) {
		return invalid(message)
	}
	return err
}

func parseAppendOptions(opts *streams.AppendReq_Options) (*draft, error) {
	if opts == nil {
		return nil, malformed("an append begins with its options")
	}
	d := &draft{}
	var err error
	if d.stream, err = writableStream(opts.GetStreamIdentifier()); err != nil {
		return nil, err
	}
	switch e := opts.GetExpectedStreamRevision().(type) {
	case *streams.AppendReq_Options_Revision:
		d.expected, err = exactRevision(e.Revision)
	case *streams.AppendReq_Options_NoStream:
		d.expected = expectNoStream
	case *streams.AppendReq_Options_Any:
		d.expected = expectAny
	case *streams.AppendReq_Options_StreamExists:
		d.expected = expectExists
	default:
		err = errNoExpectation
	}
	return d, err
}

var errNoExpectation = invalid("the expected revision is missing")

func writableStream(id *shared.StreamIdentifier) (string, error) {
	name, err := streamName(id)
	if err == nil && name == allStream {
		err = errDenied
	}
	return name, err
}

// appendResponse answers an append. A wrong expected revision is an ordinary
// answer here, all else is an error.
func appendResponse(out outcome, expected int64) (*streams.AppendResp, error) {
	var wrong *wrongVersionError
	if errors.As(out.err, &wrong) {
		return &streams.AppendResp{Result: &streams.AppendResp_WrongExpectedVersion_{
			WrongExpectedVersion: wireWrongVersion(wrong.current, expected),
		}}, nil
	}
	if out.err != nil {
		return nil, out.err
	}
	success := &streams.AppendResp_Success{
		PositionOption: &streams.AppendResp_Success_Position{
			Position: &streams.AppendResp_Position{CommitPosition: out.pos, PreparePosition: out.pos},
		},
		CurrentRevisionOption: &streams.AppendResp_Success_CurrentRevision{CurrentRevision: uint64(out.last)},
	}
	if out.last < 0 {
		success.CurrentRevisionOption = &streams.AppendResp_Success_NoStream{NoStream: &shared.Empty{}}
	}
	return &streams.AppendResp{Result: &streams.AppendResp_Success_{Success: success}}, nil
}

// wireWrongVersion fills the present fields and their older twins, which have
// no way to expect no stream but the largest revision.
func wireWrongVersion(current, expected int64) *streams.AppendResp_WrongExpectedVersion {
	w := &streams.AppendResp_WrongExpectedVersion{}
	if current < 0 {
		w.CurrentRevisionOption = &streams.AppendResp_WrongExpectedVersion_CurrentNoStream{CurrentNoStream: &shared.Empty{}}
		w.CurrentRevisionOption_20_6_0 = &streams.AppendResp_WrongExpectedVersion_NoStream_20_6_0{NoStream_20_6_0: &shared.Empty{}}
	} else {
		w.CurrentRevisionOption = &streams.AppendResp_WrongExpectedVersion_CurrentRevision{CurrentRevision: uint64(current)}
		w.CurrentRevisionOption_20_6_0 = &streams.AppendResp_WrongExpectedVersion_CurrentRevision_20_6_0{CurrentRevision_20_6_0: uint64(current)}
	}
	switch expected {
	case expectAny:
		w.ExpectedRevisionOption = &streams.AppendResp_WrongExpectedVersion_ExpectedAny{ExpectedAny: &shared.Empty{}}
		w.ExpectedRevisionOption_20_6_0 = &streams.AppendResp_WrongExpectedVersion_Any_20_6_0{Any_20_6_0: &shared.Empty{}}
	case expectExists:
		w.ExpectedRevisionOption = &streams.AppendResp_WrongExpectedVersion_ExpectedStreamExists{ExpectedStreamExists: &shared.Empty{}}
		w.ExpectedRevisionOption_20_6_0 = &streams.AppendResp_WrongExpectedVersion_StreamExists_20_6_0{StreamExists_20_6_0: &shared.Empty{}}
	case expectNoStream:
		w.ExpectedRevisionOption = &streams.AppendResp_WrongExpectedVersion_ExpectedNoStream{ExpectedNoStream: &shared.Empty{}}
		w.ExpectedRevisionOption_20_6_0 = &streams.AppendResp_WrongExpectedVersion_ExpectedRevision_20_6_0{ExpectedRevision_20_6_0: math.MaxUint64}
	default:
		w.ExpectedRevisionOption = &streams.AppendResp_WrongExpectedVersion_ExpectedRevision{ExpectedRevision: uint64(expected)}
		w.ExpectedRevisionOption_20_6_0 = &streams.AppendResp_WrongExpectedVersion_ExpectedRevision_20_6_0{ExpectedRevision_20_6_0: uint64(expected)}
	}
	return w
}

// Delete hides the events of a stream; it can be written to again later.
func (s *streamsService) Delete(ctx context.Context, req *streams.DeleteReq) (*streams.DeleteResp, error) {
	opts := req.GetOptions()
	expected, err := int64(0), errNoExpectation
	switch e := opts.GetExpectedStreamRevision().(type) {
	case *streams.DeleteReq_Options_Revision:
		expected, err = exactRevision(e.Revision)
	case *streams.DeleteReq_Options_NoStream:
		expected, err = expectNoStream, nil
	case *streams.DeleteReq_Options_Any:
		expected, err = expectAny, nil
	case *streams.DeleteReq_Options_StreamExists:
		expected, err = expectExists, nil
	}
	if err != nil {
		return nil, err
	}
	pos, err := s.remove(ctx, opts.GetStreamIdentifier(), expected, (*ledger).planDelete)
	if err != nil {
		return nil, s.store.failure(ctx, err, nil)
	}
	return &streams.DeleteResp{PositionOption: &streams.DeleteResp_Position_{
		Position: &streams.DeleteResp_Position{CommitPosition: pos, PreparePosition: pos},
	}}, nil
}

// Tombstone ends a stream for good.
func (s *streamsService) Tombstone(ctx context.Context, req *streams.TombstoneReq) (*streams.TombstoneResp, error) {
	opts := req.GetOptions()
	expected, err := int64(0), errNoExpectation
	switch e := opts.GetExpectedStreamRevision().(type) {
	case *streams.TombstoneReq_Options_Revision:
		expected, err = exactRevision(e.Revision)
	case *streams.TombstoneReq_Options_NoStream:
		expected, err = expectNoStream, nil
	case *streams.TombstoneReq_Options_Any:
		expected, err = expectAny, nil
	case *streams.TombstoneReq_Options_StreamExists:
		expected, err = expectExists, nil
	}
	if err != nil {
		return nil, err
	}
	pos, err := s.remove(ctx, opts.GetStreamIdentifier(), expected, (*ledger).planTombstone)
	if err != nil {
		return nil, s.store.failure(ctx, err, nil)
	}
	return &streams.TombstoneResp{PositionOption: &streams.TombstoneResp_Position_{
		Position: &streams.TombstoneResp_Position{CommitPosition: pos, PreparePosition: pos},
	}}, nil
}

// remove deletes or tombstones a stream. Metadata streams live and die with the
// stream that they describe.
func (s *streamsService) remove(
	ctx context.Context, id *shared.StreamIdentifier, expected int64,
	plan func(*ledger, string, int64) outcome,
) (uint64, error) {
	name, err := writableStream(id)
	if err != nil {
		return 0, err
	}
	if isMetadataStream(name) {
		return 0, errDenied
	}
	out := s.store.writer.submit(ctx, 0, func(l *ledger) outcome { return plan(l, name, expected) })
	return out.pos, out.err
}
