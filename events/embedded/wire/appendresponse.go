package wire

import (
	"errors"
	"math"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"

	"linkledger/events/embedded/ledger"
	"linkledger/events/embedded/revision"
)

// AppendResponse returns the response to an append. A wrong expected revision is a regular
// response. All other errors are returned as errors.
func AppendResponse(out ledger.Outcome, expected int64) (*streams.AppendResp, error) {
	var wrong *revision.WrongError
	if errors.As(out.Err, &wrong) {
		return &streams.AppendResp{Result: &streams.AppendResp_WrongExpectedVersion_{
			WrongExpectedVersion: appendWrongVersion(wrong.Current, expected),
		}}, nil
	}
	if out.Err != nil {
		return nil, out.Err
	}
	success := &streams.AppendResp_Success{
		PositionOption: &streams.AppendResp_Success_Position{
			Position: &streams.AppendResp_Position{
				CommitPosition: out.Position, PreparePosition: out.Position,
			},
		},
		CurrentRevisionOption: &streams.AppendResp_Success_CurrentRevision{
			CurrentRevision: uint64(out.Last),
		},
	}
	if out.Last < 0 {
		success.CurrentRevisionOption = &streams.AppendResp_Success_NoStream{
			NoStream: &shared.Empty{},
		}
	}
	return &streams.AppendResp{Result: &streams.AppendResp_Success_{Success: success}}, nil
}

// appendWrongVersion returns a message with both the current fields and the fields of version
// 20.6.0. In the older fields the largest revision means an expected NoStream.
func appendWrongVersion(current, expected int64) *streams.AppendResp_WrongExpectedVersion {
	w := &streams.AppendResp_WrongExpectedVersion{}
	if current < 0 {
		w.CurrentRevisionOption = &streams.AppendResp_WrongExpectedVersion_CurrentNoStream{
			CurrentNoStream: &shared.Empty{},
		}
		w.CurrentRevisionOption_20_6_0 = &streams.AppendResp_WrongExpectedVersion_NoStream_20_6_0{
			NoStream_20_6_0: &shared.Empty{},
		}
	} else {
		w.CurrentRevisionOption = &streams.AppendResp_WrongExpectedVersion_CurrentRevision{
			CurrentRevision: uint64(current),
		}
		older := &streams.AppendResp_WrongExpectedVersion_CurrentRevision_20_6_0{
			CurrentRevision_20_6_0: uint64(current),
		}
		w.CurrentRevisionOption_20_6_0 = older
	}
	switch expected {
	case revision.Any:
		w.ExpectedRevisionOption = &streams.AppendResp_WrongExpectedVersion_ExpectedAny{
			ExpectedAny: &shared.Empty{},
		}
		w.ExpectedRevisionOption_20_6_0 = &streams.AppendResp_WrongExpectedVersion_Any_20_6_0{
			Any_20_6_0: &shared.Empty{},
		}
	case revision.StreamExists:
		w.ExpectedRevisionOption = &streams.AppendResp_WrongExpectedVersion_ExpectedStreamExists{
			ExpectedStreamExists: &shared.Empty{},
		}
		older := &streams.AppendResp_WrongExpectedVersion_StreamExists_20_6_0{
			StreamExists_20_6_0: &shared.Empty{},
		}
		w.ExpectedRevisionOption_20_6_0 = older
	case revision.NoStream:
		w.ExpectedRevisionOption = &streams.AppendResp_WrongExpectedVersion_ExpectedNoStream{
			ExpectedNoStream: &shared.Empty{},
		}
		older := &streams.AppendResp_WrongExpectedVersion_ExpectedRevision_20_6_0{
			ExpectedRevision_20_6_0: math.MaxUint64,
		}
		w.ExpectedRevisionOption_20_6_0 = older
	default:
		w.ExpectedRevisionOption = &streams.AppendResp_WrongExpectedVersion_ExpectedRevision{
			ExpectedRevision: uint64(expected),
		}
		older := &streams.AppendResp_WrongExpectedVersion_ExpectedRevision_20_6_0{
			ExpectedRevision_20_6_0: uint64(expected),
		}
		w.ExpectedRevisionOption_20_6_0 = older
	}
	return w
}
