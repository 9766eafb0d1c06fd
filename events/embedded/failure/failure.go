// Package failure turns errors of calls into the statuses and trailers that
// clients expect.
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

// ErrDenied refuses a write to a stream that takes none.
var ErrDenied = errors.New("access denied")

// The texts of errors that a trailer names are those of real servers.

// MissingPropertyError refuses an event without a type or a content-type.
type MissingPropertyError struct{ Name string }

func (e *MissingPropertyError) Error() string {
	return "Required Metadata Property '" + e.Name + "' is missing"
}

// TooLargeError refuses an append over the limit, in bytes.
type TooLargeError struct{ Limit int }

func (e *TooLargeError) Error() string {
	return "Maximum Append Size of " + strconv.Itoa(e.Limit) + " Exceeded."
}

// Reporter turns errors of calls into what clients expect to see.
type Reporter struct {
	Answers dialect.Dialect
	Closing <-chan struct{} // closed when the store closes
}

// Report is the error of a call, as a client of the dialect expects it. confirm
// confirms a subscription; nil: the call is none, or is confirmed.
func (r Reporter) Report(ctx context.Context, err error, confirm func() error) error {
	var f *dialect.RequestError
	if r.Answers == dialect.Own || !errors.As(err, &f) {
		return Status(ctx, err)
	}
	answer := r.Answers.Answer(f.Fault, confirm != nil)
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

// Status turns an error into what clients expect to see: a status, and
// trailers that name the exception.
func Status(ctx context.Context, err error) error {
	code, trailers := classify(err)
	if len(trailers) > 0 {
		// It fails only outside of a call or when the call has ended.
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
	case errors.Is(err, groupcommit.ErrClosed), errors.Is(err, disk.ErrFailed):
		return codes.Unavailable, nil
	case errors.Is(err, context.DeadlineExceeded):
		return codes.DeadlineExceeded, nil
	case errors.Is(err, context.Canceled):
		return codes.Canceled, nil
	case errors.Is(err, record.ErrCorrupt):
		return codes.DataLoss, nil
	}
	return codes.Unknown, nil
}

// ascii makes a stream name fit for a trailer, which holds printable ASCII
// only. Ordinary names stay as they are.
func ascii(name string) string {
	for i := range len(name) {
		if name[i] < ' ' || name[i] > '~' {
			return url.PathEscape(name)
		}
	}
	return name
}
