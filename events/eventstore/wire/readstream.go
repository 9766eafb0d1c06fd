package wire

import (
	"context"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc"

	"linkledger/events/eventstore/eventlog"
)

// ReadStream is a read of events, or a subscription to them. It ends with the context that it was
// opened with.
type ReadStream struct {
	call streams.Streams_ReadClient
	decoder
}

// Open starts a read. Errors of the event store are returned by the first Next.
func Open(
	ctx context.Context, conn *grpc.ClientConn, options *streams.ReadReq_Options,
) (*ReadStream, error) {
	options.UuidOption = &streams.ReadReq_Options_UUIDOption{
		Content: &streams.ReadReq_Options_UUIDOption_Structured{Structured: &shared.Empty{}},
	}
	if options.GetFilterOption() == nil {
		options.FilterOption = &streams.ReadReq_Options_NoFilter{NoFilter: &shared.Empty{}}
	}
	call, err := streams.NewStreamsClient(conn).Read(
		ctx, &streams.ReadReq{Options: options}, grpc.ForceCodecV2(newCodec()),
	)
	if err != nil {
		return nil, eventlog.Classify(err, nil)
	}
	return &ReadStream{call: call, decoder: newDecoder()}, nil
}

// Next waits for the next response. It returns io.EOF at the end of a read.
func (r *ReadStream) Next() (Response, error) {
	var received wireBytes
	if err := r.call.RecvMsg(&received); err != nil {
		return Response{}, eventlog.Classify(err, r.call.Trailer())
	}
	return r.decode(received)
}
