package wire

import (
	"context"
	"net/http"
	"time"

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

// Date returns the time at which the event store has answered, to the second, from the header date
// of its response (RFC 9110, 6.6.1). It is zero if the response has none. Date waits for the
// response.
func (r *ReadStream) Date() (time.Time, error) {
	header, err := r.call.Header()
	if err != nil {
		return time.Time{}, eventlog.Classify(err, r.call.Trailer())
	}
	for _, value := range header.Get("date") {
		if date, err := http.ParseTime(value); err == nil {
			return date, nil
		}
	}
	return time.Time{}, nil
}

// Next waits for the next response. It returns io.EOF at the end of a read.
func (r *ReadStream) Next() (Response, error) {
	var received wireBytes
	if err := r.call.RecvMsg(&received); err != nil {
		return Response{}, eventlog.Classify(err, r.call.Trailer())
	}
	return r.decode(received)
}
