package failure_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"linkledger/events/embedded/dialect"
	"linkledger/events/embedded/disk"
	"linkledger/events/embedded/failure"
	"linkledger/events/embedded/groupcommit"
	"linkledger/events/embedded/record"
	"linkledger/events/embedded/recordedtest"
	"linkledger/events/embedded/revision"
)

// call is the stream of a call, which keeps its trailers.
type call struct {
	grpc.ServerTransportStream

	trailers metadata.MD
}

func (c *call) SetTrailer(md metadata.MD) error {
	c.trailers = metadata.Join(c.trailers, md)
	return nil
}

func TestStatus(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err      error
		code     codes.Code
		trailers []string // names and values
	}{
		"deleted": {
			&revision.StreamDeletedError{Stream: "ström"}, codes.FailedPrecondition,
			[]string{"exception", "stream-deleted", "stream-name", "str%C3%B6m"},
		},
		"wrong revision": {
			&revision.WrongError{Stream: "a b~", Expected: 5, Current: -1}, codes.FailedPrecondition,
			[]string{
				"exception", "wrong-expected-version", "stream-name", "a b~",
				"expected-version", "5", "actual-version", "-1",
			},
		},
		"too large": {
			&failure.TooLargeError{Limit: 7}, codes.InvalidArgument,
			[]string{"exception", "maximum-append-size-exceeded", "maximum-append-size", "7"},
		},
		"no type": {
			&failure.MissingPropertyError{Name: "type"}, codes.InvalidArgument,
			[]string{
				"exception", "missing-required-metadata-property",
				"required-metadata-properties", "type,content-type",
			},
		},
		"denied":    {failure.ErrDenied, codes.PermissionDenied, []string{"exception", "access-denied"}},
		"closed":    {groupcommit.ErrClosed, codes.Unavailable, nil},
		"late":      {context.DeadlineExceeded, codes.DeadlineExceeded, nil},
		"cancelled": {context.Canceled, codes.Canceled, nil},
		"corrupt":   {record.ErrCorrupt, codes.DataLoss, nil},
		"full":      {disk.ErrFull, codes.ResourceExhausted, nil},
		"failed":    {disk.ErrFailed, codes.FailedPrecondition, nil},
		"unknown":   {errors.New("unknown"), codes.Unknown, nil},
		"a status":  {status.Error(codes.Aborted, "aborted"), codes.Aborted, nil},
		"malformed": {dialect.Malformed("malformed"), codes.InvalidArgument, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var c call
			err := failure.Status(grpc.NewContextWithServerTransportStream(t.Context(), &c), fmt.Errorf("wrapped: %w", tc.err))
			if got := status.Code(err); got != tc.code {
				t.Errorf("%v has code %s, want %s", err, got, tc.code)
			}
			if want := metadata.Pairs(tc.trailers...); fmt.Sprint(c.trailers) != fmt.Sprint(want) {
				t.Errorf("trailers %v, want %v", c.trailers, want)
			}
			refuses := errors.Is(tc.err, disk.ErrFull) || errors.Is(tc.err, disk.ErrFailed)
			if _, got := failure.RefusesWrites(tc.err); got != refuses {
				t.Errorf("refuses writes: %v, want %v", got, refuses)
			}
		})
	}
}

// TestReport reports malformed requests to clients of each dialect.
func TestReport(t *testing.T) {
	t.Parallel()
	unanswered := codes.Canceled
	for name, tc := range map[string]struct {
		dialect   dialect.Dialect
		err       error
		confirms  bool // the call is a subscription
		code      codes.Code
		confirmed bool
	}{
		"own":          {nil, dialect.Malformed("x"), true, codes.InvalidArgument, false},
		"other error":  {recordedtest.V2310, failure.ErrDenied, true, codes.PermissionDenied, false},
		"exception":    {recordedtest.V2310, dialect.Malformed("x"), true, codes.Unknown, false},
		"silent":       {recordedtest.V2310, dialect.Refuse(dialect.FaultCount, "x"), false, unanswered, false},
		"window":       {recordedtest.V2310, dialect.Refuse(dialect.FaultWindow, "x"), true, unanswered, true},
		"later window": {recordedtest.V2410, dialect.Refuse(dialect.FaultWindow, "x"), true, codes.Unknown, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, end := context.WithCancel(t.Context())
			end()
			confirmed := false
			var confirm func() error
			if tc.confirms {
				confirm = func() error { confirmed = true; return nil }
			}
			err := failure.Reporter{Dialect: tc.dialect}.Report(ctx, tc.err, confirm)
			if status.Code(err) != tc.code || confirmed != tc.confirmed {
				t.Errorf("%v, confirmed %v; want %s, %v", err, confirmed, tc.code, tc.confirmed)
			}
		})
	}
	closing := make(chan struct{})
	close(closing)
	silent := failure.Reporter{Dialect: recordedtest.V2310, Closing: closing}
	if err := silent.Report(t.Context(), dialect.Refuse(dialect.FaultCount, "x"), nil); status.Code(err) != codes.Unavailable {
		t.Errorf("while the store closes: %v", err)
	}
	broken := errors.New("the client has gone")
	refused := dialect.Refuse(dialect.FaultWindow, "x")
	if err := silent.Report(t.Context(), refused, func() error { return broken }); !errors.Is(err, broken) &&
		status.Code(err) != codes.Unknown {
		t.Errorf("a confirmation that fails: %v", err)
	}
}
