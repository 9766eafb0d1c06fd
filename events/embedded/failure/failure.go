// Package failure converts errors of calls to the statuses and trailers that clients expect.
package failure

import (
	"context"
	"errors"
	"net/url"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"linkledger/events/embedded/dialect"
	"linkledger/events/embedded/disk"
	"linkledger/events/embedded/groupcommit"
	"linkledger/events/embedded/record"
	"linkledger/events/embedded/revision"
)

// ErrDenied is returned for a write to a stream that accepts no writes.
var ErrDenied = errors.New("access denied")

// MissingPropertyError is returned for an event without a type or a content-type.
type MissingPropertyError struct{ Name string }

// Error returns the message with which EventStoreDB reports this error.
func (e *MissingPropertyError) Error() string {
	return "Required Metadata Property '" + e.Name + "' is missing"
}

// TooLargeError is returned for an append that is larger than Limit bytes.
type TooLargeError struct{ Limit int }

// Error returns the message with which EventStoreDB reports this error.
func (e *TooLargeError) Error() string {
	return "Maximum Append Size of " + strconv.Itoa(e.Limit) + " Exceeded."
}

// Reporter converts errors of calls to the statuses that clients of a dialect expect.
type Reporter struct {
	Dialect dialect.Dialect
	Closing <-chan struct{} // closed when the store closes
}

// Report returns the status of a failed call, as a client of the dialect expects it. If the server
// of the dialect never answers such a call, Report blocks until the call ends or the store closes.
// confirm confirms a subscription. It is nil if the call is no subscription or is already
// confirmed.
func (r Reporter) Report(ctx context.Context, err error, confirm func() error) error {
	var f *dialect.RequestError
	if r.Dialect == nil || !errors.As(err, &f) {
		return Status(ctx, err)
	}
	answer := r.Dialect.Response(f.Fault, confirm != nil)
	if answer.Confirmed {
		if err := confirm(); err != nil {
			return Status(ctx, err)
		}
	}
	if answer.Code != codes.OK {
		return status.Error(answer.Code, answer.Message)
	}
	select {
	case <-ctx.Done():
		return Status(ctx, context.Cause(ctx))
	case <-r.Closing:
		return Status(ctx, groupcommit.ErrClosed)
	}
}

// Status converts an error to a status and sets the trailers that name the exception.
func Status(ctx context.Context, err error) error {
	code, trailers := classify(err)
	if len(trailers) > 0 {
		// SetTrailer fails only outside of a call or after the call has ended.
		_ = grpc.SetTrailer(ctx, metadata.Pairs(trailers...))
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	return status.Error(code, err.Error())
}

func classify(err error) (codes.Code, []string) {
	var (
		deleted *revision.StreamDeletedError
		wrong   *revision.WrongError
		large   *TooLargeError
		missing *MissingPropertyError
	)
	switch {
	case errors.As(err, &deleted):
		return codes.FailedPrecondition, []string{
			"exception", "stream-deleted", "stream-name", ascii(deleted.Stream),
		}
	case errors.As(err, &wrong):
		return codes.FailedPrecondition, []string{
			"exception", "wrong-expected-version", "stream-name", ascii(wrong.Stream),
			"expected-version", strconv.FormatInt(wrong.Expected, 10),
			"actual-version", strconv.FormatInt(wrong.Current, 10),
		}
	case errors.As(err, &large):
		return codes.InvalidArgument, []string{
			"exception", "maximum-append-size-exceeded", "maximum-append-size",
			strconv.Itoa(large.Limit),
		}
	case errors.As(err, &missing):
		return codes.InvalidArgument, []string{
			"exception", "missing-required-metadata-property", "required-metadata-properties",
			"type,content-type",
		}
	case errors.Is(err, ErrDenied):
		return codes.PermissionDenied, []string{"exception", "access-denied"}
	case errors.Is(err, groupcommit.ErrClosed):
		return codes.Unavailable, nil
	case errors.Is(err, context.DeadlineExceeded):
		return codes.DeadlineExceeded, nil
	case errors.Is(err, context.Canceled):
		return codes.Canceled, nil
	case errors.Is(err, record.ErrCorrupt):
		return codes.DataLoss, nil
	}
	if code, refuses := RefusesWrites(err); refuses {
		return code, nil
	}
	return codes.Unknown, nil
}

// RefusesWrites reports whether an error means that the store accepts no writes until its disk
// works again. code is the code of the status for such an error, or OK for another error. It is not
// Unavailable, because clients repeat an Unavailable call at once, which does not help here.
func RefusesWrites(err error) (code codes.Code, refuses bool) {
	switch {
	case errors.Is(err, disk.ErrFull):
		return codes.ResourceExhausted, true
	case errors.Is(err, disk.ErrFailed):
		return codes.FailedPrecondition, true
	}
	return codes.OK, false
}

// ascii returns a name for a trailer, which can hold only printable ASCII. A name with other
// characters is escaped.
func ascii(name string) string {
	for i := range len(name) {
		if name[i] < ' ' || name[i] > '~' {
			return url.PathEscape(name)
		}
	}
	return name
}
