package embedded

import (
	"context"
	"errors"
	"net/url"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

var errDenied = errors.New("access denied")

// The texts of errors that a trailer names are those of real servers.

// missingPropertyError refuses an event without a type or a content-type.
type missingPropertyError struct{ name string }

func (e *missingPropertyError) Error() string {
	return "Required Metadata Property '" + e.name + "' is missing"
}

// tooLargeError refuses an append over the limit, in bytes.
type tooLargeError struct{ limit int }

func (e *tooLargeError) Error() string {
	return "Maximum Append Size of " + strconv.Itoa(e.limit) + " Exceeded."
}

// failure turns an error into what clients expect to see: a status, and
// trailers that name the exception.
func failure(ctx context.Context, err error) error {
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
		deleted *deletedError
		wrong   *wrongVersionError
		large   *tooLargeError
		missing *missingPropertyError
	)
	switch {
	case errors.As(err, &deleted):
		return codes.FailedPrecondition, []string{"exception", "stream-deleted", "stream-name", ascii(deleted.stream)}
	case errors.As(err, &wrong):
		return codes.FailedPrecondition, []string{
			"exception", "wrong-expected-version", "stream-name", ascii(wrong.stream),
			"expected-version", strconv.FormatInt(wrong.expected, 10),
			"actual-version", strconv.FormatInt(wrong.current, 10),
		}
	case errors.As(err, &large):
		return codes.InvalidArgument, []string{
			"exception", "maximum-append-size-exceeded", "maximum-append-size", strconv.Itoa(large.limit),
		}
	case errors.As(err, &missing):
		return codes.InvalidArgument, []string{
			"exception", "missing-required-metadata-property", "required-metadata-properties", "type,content-type",
		}
	case errors.Is(err, errDenied):
		return codes.PermissionDenied, []string{"exception", "access-denied"}
	case errors.Is(err, ErrClosed), errors.Is(err, ErrFailed):
		return codes.Unavailable, nil
	case errors.Is(err, context.DeadlineExceeded):
		return codes.DeadlineExceeded, nil
	case errors.Is(err, context.Canceled):
		return codes.Canceled, nil
	case errors.Is(err, ErrCorrupt):
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
