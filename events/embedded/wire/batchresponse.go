package wire

import (
	"context"
	"errors"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/emptypb"

	"linkledger/events/embedded/failure"
	"linkledger/events/embedded/ledger"
	"linkledger/events/embedded/revision"
)

// BatchResponse returns the response to a batch. It repeats the correlation id and the stream of
// the batch. limit is the maximum size of an append.
func BatchResponse(
	id *shared.UUID, stream *shared.StreamIdentifier, expected int64, out ledger.Outcome, limit int,
) *streams.BatchAppendResp {
	resp := &streams.BatchAppendResp{CorrelationId: id, StreamIdentifier: stream}
	if resp.StreamIdentifier == nil {
		resp.StreamIdentifier = &shared.StreamIdentifier{}
	}
	if out.Err != nil {
		resp.Result = &streams.BatchAppendResp_Error{
			Error: batchError(out.Err, stream, expected, limit),
		}
		return resp
	}
	success := &streams.BatchAppendResp_Success{
		PositionOption: &streams.BatchAppendResp_Success_Position{
			Position: &shared.AllStreamPosition{
				CommitPosition: out.Position, PreparePosition: out.Position,
			},
		},
		CurrentRevisionOption: &streams.BatchAppendResp_Success_CurrentRevision{
			CurrentRevision: uint64(out.Last),
		},
	}
	if out.Last < 0 {
		success.CurrentRevisionOption = &streams.BatchAppendResp_Success_NoStream{
			NoStream: &emptypb.Empty{},
		}
	}
	resp.Result = &streams.BatchAppendResp_Success_{Success: success}
	return resp
}

// batchError returns the status of an error. Clients identify the error by the detail in the
// status.
func batchError(
	err error, stream *shared.StreamIdentifier, expected int64, limit int,
) *rpcstatus.Status {
	var (
		wrong   *revision.WrongError
		deleted *revision.StreamDeletedError
		large   *failure.TooLargeError
		missing *failure.MissingPropertyError
	)
	pack := func(code codes.Code, message string, detail proto.Message) *rpcstatus.Status {
		st := &rpcstatus.Status{Code: int32(code), Message: message}
		if packed, err := anypb.New(detail); err == nil {
			st.Details = []*anypb.Any{packed}
		}
		return st
	}
	switch {
	case errors.As(err, &wrong):
		return pack(
			codes.AlreadyExists, "WrongExpectedVersion", batchWrongVersion(wrong.Current, expected),
		)
	case errors.As(err, &deleted):
		return pack(
			codes.NotFound, "StreamDeleted", &shared.StreamDeleted{StreamIdentifier: stream},
		)
	case errors.As(err, &large):
		return pack(codes.InvalidArgument, "MaximumAppendSizeExceeded",
			&shared.MaximumAppendSizeExceeded{MaxAppendSize: uint32(limit)})
	case errors.Is(err, failure.ErrDenied):
		return pack(codes.PermissionDenied, "AccessDenied", &shared.AccessDenied{})
	case errors.Is(err, context.DeadlineExceeded):
		return pack(codes.DeadlineExceeded, "Timeout", &shared.Timeout{})
	case errors.As(err, &missing), status.Code(err) == codes.InvalidArgument:
		return pack(codes.InvalidArgument, "BadRequest", &shared.BadRequest{Message: err.Error()})
	}
	if code, refuses := failure.RefusesWrites(err); refuses {
		return pack(code, err.Error(), &shared.Unknown{})
	}
	return pack(codes.Unknown, "Unknown", &shared.Unknown{})
}

func batchWrongVersion(current, expected int64) *shared.WrongExpectedVersion {
	w := &shared.WrongExpectedVersion{}
	if current < 0 {
		w.CurrentStreamRevisionOption = &shared.WrongExpectedVersion_CurrentNoStream{
			CurrentNoStream: &emptypb.Empty{},
		}
	} else {
		w.CurrentStreamRevisionOption = &shared.WrongExpectedVersion_CurrentStreamRevision{
			CurrentStreamRevision: uint64(current),
		}
	}
	switch expected {
	case revision.Any:
		w.ExpectedStreamPositionOption = &shared.WrongExpectedVersion_ExpectedAny{
			ExpectedAny: &emptypb.Empty{},
		}
	case revision.StreamExists:
		w.ExpectedStreamPositionOption = &shared.WrongExpectedVersion_ExpectedStreamExists{
			ExpectedStreamExists: &emptypb.Empty{},
		}
	case revision.NoStream:
		w.ExpectedStreamPositionOption = &shared.WrongExpectedVersion_ExpectedNoStream{
			ExpectedNoStream: &emptypb.Empty{},
		}
	default:
		w.ExpectedStreamPositionOption = &shared.WrongExpectedVersion_ExpectedStreamPosition{
			ExpectedStreamPosition: uint64(expected),
		}
	}
	return w
}
