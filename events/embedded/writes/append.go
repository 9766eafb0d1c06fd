// Package writes serves the calls that write: Append, BatchAppend, Delete and
// Tombstone.
package writes

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"

	"linkledger/events/embedded/dialect"
	"linkledger/events/embedded/failure"
	"linkledger/events/embedded/groupcommit"
	"linkledger/events/embedded/ledger"
	"linkledger/events/embedded/record"
	"linkledger/events/embedded/request"
	"linkledger/events/embedded/wire"
)

// maxDrain bounds how many bytes are read of an append that is already refused.
const maxDrain = 64 << 20

// Service implements the calls that write.
type Service struct {
	Writer        *groupcommit.Writer
	MaxAppendSize int // in bytes
	Failures      failure.Reporter
	Now           func() time.Time
	Closing       context.Context //nolint:containedctx // done when the store closes
}

// planOf returns the plan of an append for the writer.
func planOf(d *request.Append) func(*ledger.Ledger) ledger.Outcome {
	return func(l *ledger.Ledger) ledger.Outcome { return l.Append(d.Stream, d.Expected, d.Events) }
}

// Append writes events to the end of one stream, all or none.
func (s *Service) Append(call streams.Streams_AppendServer) error {
	ctx := call.Context()
	d, err := s.receiveAppend(call)
	if err != nil {
		return s.Failures.Report(ctx, err, nil)
	}
	out := s.Writer.Submit(ctx, d.Size, planOf(d))
	resp, err := wire.AppendResponse(out, d.Expected)
	if err != nil {
		return failure.Status(ctx, err)
	}
	return call.SendAndClose(resp)
}

func (s *Service) receiveAppend(call streams.Streams_AppendServer) (*request.Append, error) {
	first, err := call.Recv()
	if err != nil {
		return nil, invalidUnless(err, io.EOF, "an append must begin with its options")
	}
	d, err := request.ParseAppend(first.GetOptions())
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
			return nil, drain(call, dialect.Invalid("only events may follow the append options"))
		}
		if err := d.Add(message, s.MaxAppendSize); err != nil {
			return nil, drain(call, err)
		}
	}
}

// drain discards the rest of a refused append and returns refusal. If the call ended while the
// client is still sending, the client would receive a bare EOF without code and trailers.
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
		return dialect.Invalid(message)
	}
	return err
}

// Delete hides the events of a stream. Later writes to the stream are accepted.
func (s *Service) Delete(ctx context.Context, req *streams.DeleteReq) (*streams.DeleteResp, error) {
	opts := req.GetOptions()
	expected, err := request.DeleteExpectation(opts)
	if err != nil {
		return nil, err
	}
	pos, err := s.remove(ctx, opts.GetStreamIdentifier(), expected, (*ledger.Ledger).Delete)
	if err != nil {
		return nil, s.Failures.Report(ctx, err, nil)
	}
	return &streams.DeleteResp{PositionOption: &streams.DeleteResp_Position_{
		Position: &streams.DeleteResp_Position{CommitPosition: pos, PreparePosition: pos},
	}}, nil
}

// Tombstone deletes a stream permanently.
func (s *Service) Tombstone(
	ctx context.Context, req *streams.TombstoneReq,
) (*streams.TombstoneResp, error) {
	opts := req.GetOptions()
	expected, err := request.TombstoneExpectation(opts)
	if err != nil {
		return nil, err
	}
	pos, err := s.remove(ctx, opts.GetStreamIdentifier(), expected, (*ledger.Ledger).Tombstone)
	if err != nil {
		return nil, s.Failures.Report(ctx, err, nil)
	}
	return &streams.TombstoneResp{PositionOption: &streams.TombstoneResp_Position_{
		Position: &streams.TombstoneResp_Position{CommitPosition: pos, PreparePosition: pos},
	}}, nil
}

// remove deletes or tombstones a stream. It refuses metadata streams, because they exist as long as
// the stream that they describe.
func (s *Service) remove(
	ctx context.Context, id *shared.StreamIdentifier, expected int64,
	plan func(*ledger.Ledger, string, int64) ledger.Outcome,
) (uint64, error) {
	name, err := request.WritableStream(id)
	if err != nil {
		return 0, err
	}
	if record.IsMetadataStream(name) {
		return 0, failure.ErrDenied
	}
	out := s.Writer.Submit(
		ctx, 0, func(l *ledger.Ledger) ledger.Outcome { return plan(l, name, expected) },
	)
	return out.Position, out.Err
}
