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
	// ErrWrongRevision means that the stream is not at the expected revision: load it and decide
	// again.
	ErrWrongRevision = errors.New("stream is at another revision")
	// ErrCut means that events of a stream cannot be read although they were written: the metadata
	// of the stream hides them ($tb, $maxCount, $maxAge), or the stream was deleted or tombstoned.
	// Linkledger does none of this, so somebody else who can write to the event store has. What the
	// remaining events say is not the state of the stream.
	ErrCut = errors.New("the history of the stream was cut in the event store")
	// ErrStreamDeleted means that the stream was tombstoned in the event store itself; nothing can
	// be read from it or appended to it. It is an ErrCut.
	ErrStreamDeleted = fmt.Errorf("%w: it has a tombstone", ErrCut)
	// ErrNotFound means that there is no such stream or event.
	ErrNotFound = errors.New("stream not found")
	// ErrUnavailable means that the event store could not be reached in time. The outcome of an
	// append is unknown: repeat it with the same command id.
	ErrUnavailable = errors.New("event store unavailable")
	// ErrTooLarge means that the events of one append exceed MaxAppendSize: split them.
	ErrTooLarge = errors.New("append too large")
	// ErrDenied means that the credentials of the connection string do not suffice.
	ErrDenied = errors.New("access to the event store denied")
	// ErrForbidden means that the user is known and lacks a right. It is an ErrDenied.
	ErrForbidden = fmt.Errorf("%w: the user lacks a right", ErrDenied)
	// ErrInvalid means that the event store found the request malformed.
	ErrInvalid = errors.New("event store refused the request as malformed")
	// ErrPositionInvalid means that a position is not one of this log: it is of another log, or the
	// log was reset, or restored from a backup that is older than the position. What was read up to
	// there is to be read anew.
	ErrPositionInvalid = errors.New("position is not in this log")
	// ErrForeign means that an event was not written by Linkledger and can't be copied.
	ErrForeign = errors.New("event of another program")
	// ErrOtherLog means that two logs differ where they should be the same.
	ErrOtherLog = errors.New("the logs differ")
	// ErrClosed means that the Store was closed.
	ErrClosed = errors.New("event store client is closed")
)

// Classify maps an error of a reading to one of this package, by its gRPC status and the exception
// that its trailer names. What says nothing (Unknown, Internal) counts as unavailable: reading
// again is safe. For a reading from a position, positionFault has the last word. The end of a
// reading stays io.EOF.
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

// HasCode tells whether an answer of gRPC with this status is what went wrong.
func HasCode(err error, code codes.Code) bool {
	answered, ok := status.FromError(err)
	return ok && err != nil && answered.Code() == code
}

// IsDenied tells of an error of gRPC that the credentials do not suffice, which no repetition will
// mend.
func IsDenied(err error) bool {
	code := status.Code(err)
	return code == codes.PermissionDenied || code == codes.Unauthenticated
}

// Denial is the error of a code of IsDenied.
func Denial(code codes.Code) error {
	if code == codes.PermissionDenied {
		return ErrForbidden
	}
	return ErrDenied
}

// ErrNoAnswer is the cause of an ErrUnavailable where the event store has not answered within the
// time of an attempt.
var ErrNoAnswer = errors.New("no answer in time")
