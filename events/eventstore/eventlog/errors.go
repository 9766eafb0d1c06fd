package eventlog

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

var (
	// ErrWrongRevision means that the stream is not at the expected revision. The caller loads the
	// stream and decides again.
	ErrWrongRevision = errors.New("stream is at another revision")
	// ErrCut means that events of a stream cannot be read although they were written: the metadata
	// of the stream hides them ($tb, $maxCount, $maxAge), or the stream was deleted or tombstoned.
	// Linkledger does none of this, so another program or person with write access did it. The
	// state of the stream MUST NOT be computed from the remaining events.
	ErrCut = errors.New("the history of the stream was cut in the event store")
	// ErrStreamDeleted means that the stream has a tombstone: it can be neither read nor appended
	// to. It is an ErrCut.
	ErrStreamDeleted = fmt.Errorf("%w: it has a tombstone", ErrCut)
	// ErrNotFound means that the stream or event does not exist.
	ErrNotFound = errors.New("stream not found")
	// ErrUnavailable means that the event store did not respond in time. The outcome of an append
	// is then unknown. The caller may repeat the append with the same command id.
	ErrUnavailable = errors.New("event store unavailable")
	// ErrRefusesWrites means that the event store accepts no writes at present, although it
	// answers: its disk is full or has failed. Nothing was written. It is an ErrUnavailable. A
	// retry does not help until the disk is mended.
	ErrRefusesWrites = fmt.Errorf("%w: it accepts no writes", ErrUnavailable)
	// ErrTooLarge means that the events of one append exceed MaxAppendSize. The caller splits them.
	ErrTooLarge = errors.New("append too large")
	// ErrDenied means that the credentials of the connection string are missing, wrong or
	// insufficient.
	ErrDenied = errors.New("access to the event store denied")
	// ErrForbidden means that the user is authenticated but lacks a right. It is an ErrDenied.
	ErrForbidden = fmt.Errorf("%w: the user lacks a right", ErrDenied)
	// ErrInvalid means that the event store rejected the request as malformed.
	ErrInvalid = errors.New("event store refused the request as malformed")
	// ErrPositionInvalid means that a position is not in this log: it belongs to another log, or
	// the log was reset or restored from a backup that is older than the position. Everything that
	// was read up to the position must be read again.
	ErrPositionInvalid = errors.New("position is not in this log")
	// ErrForeign means that Linkledger did not write an event, so it cannot be copied.
	ErrForeign = errors.New("event of another program")
	// ErrOtherLog means that two logs that should be equal differ.
	ErrOtherLog = errors.New("the logs differ")
	// ErrClosed means that the Store was closed.
	ErrClosed = errors.New("event store client is closed")
)

// DecodeError means that this program cannot make sense of a stored event: a newer version or
// another program has written it, or it lies in the wrong stream. What the event says is unknown,
// so the state of its stream is too.
type DecodeError struct {
	Stream   string
	Revision Revision
	Position Position
	Type     string
	Err      error
}

// Error implements error.
func (e *DecodeError) Error() string {
	return fmt.Sprintf("event %d of %s at position %s: %v", e.Revision, e.Stream, e.Position, e.Err)
}

// Unwrap returns the cause.
func (e *DecodeError) Unwrap() error { return e.Err }

// IsUndecoded reports whether an error is about an event that cannot be decoded.
func IsUndecoded(err error) bool {
	_, ok := errors.AsType[*DecodeError](err)
	return ok
}

// Classify maps an error of a read to an error of this package, by its gRPC status and the
// exception in its trailer. Unspecific errors (Unknown, Internal) become ErrUnavailable, because
// repeating a read is safe. For a read from a position, package logreader refines the result (see
// its classifyPositionError). Classify returns io.EOF unchanged.
func Classify(err error, trailer metadata.MD) error {
	if errors.Is(err, io.EOF) {
		return err
	}
	sentinel := ErrUnavailable
	switch {
	case slices.Contains(trailer.Get("exception"), "stream-deleted"):
		sentinel = ErrStreamDeleted
	case IsDenied(err):
		sentinel = Denial(status.Code(err))
	case status.Code(err) == codes.InvalidArgument:
		sentinel = ErrInvalid
	}
	return fmt.Errorf("%w: %w", sentinel, err)
}

// HasCode reports whether err is or wraps a gRPC status with this code.
func HasCode(err error, code codes.Code) bool {
	answered, ok := status.FromError(err)
	return ok && err != nil && answered.Code() == code
}

// IsDenied reports whether err means that the credentials do not suffice. In that case a retry does
// not help.
func IsDenied(err error) bool {
	code := status.Code(err)
	return code == codes.PermissionDenied || code == codes.Unauthenticated
}

// Denial returns the error for a code that IsDenied accepts.
func Denial(code codes.Code) error {
	if code == codes.PermissionDenied {
		return ErrForbidden
	}
	return ErrDenied
}

// ErrNoAnswer is the cause of an ErrUnavailable if the event store did not respond within the time
// of one attempt.
var ErrNoAnswer = errors.New("no answer in time")
