package eventstore

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var (
	// ErrWrongRevision means that the stream is not at the expected revision: load it and decide again.
	ErrWrongRevision = errors.New("stream is at another revision")
	// ErrStreamDeleted means that the stream was deleted in the event store itself; nothing can be appended to it.
	ErrStreamDeleted = errors.New("stream is deleted")
	// ErrNotFound means that there is no such stream or event.
	ErrNotFound = errors.New("stream not found")
	// ErrUnavailable means that the event store could not be reached in time. The outcome of an append is unknown:
	// repeat it with the same command id.
	ErrUnavailable = errors.New("event store unavailable")
	// ErrTooLarge means that the events of one append exceed MaxAppendSize: split them.
	ErrTooLarge = errors.New("append too large")
	// ErrDenied means that the credentials of the connection string do not suffice.
	ErrDenied = errors.New("access to the event store denied")
	// ErrInvalid means that the event store found the request malformed.
	ErrInvalid = errors.New("event store refused the request as malformed")
	// ErrPositionInvalid means that a position is not one of this log: the log was reset, or restored from a backup
	// that is older than the checkpoint.
	ErrPositionInvalid = errors.New("position is not in this log")
	// ErrForeign means that an event was not written by Linkledger and can't be copied.
	ErrForeign = errors.New("event of another program")
	// ErrOtherLog means that two logs differ where they should be the same.
	ErrOtherLog = errors.New("the logs differ")
	// ErrClosed means that the Store was closed.
	ErrClosed = errors.New("event store client is closed")
)

// classify maps an error of the client to one of this package. The client wraps its errors in some calls and not in
// others, and drops the status of a refused delete, so both its code and the gRPC status are looked at.
func classify(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	if esErr, ok := errors.AsType[*esdb.Error](err); ok {
		if known := sentinelOf(esErr.Code()); known != nil {
			return fmt.Errorf("%w: %w", known, err)
		}
		if esErr.Err() != nil {
			return fmt.Errorf("%w: %w", statusSentinel(esErr.Err()), err)
		}
	}
	return fmt.Errorf("%w: %w", statusSentinel(err), err)
}

func sentinelOf(code esdb.ErrorCode) error {
	switch code { //nolint:exhaustive // the rest is told apart by its gRPC status
	case esdb.ErrorCodeStreamDeleted:
		return ErrStreamDeleted
	case esdb.ErrorCodeUnauthenticated, esdb.ErrorCodeAccessDenied:
		return ErrDenied
	case esdb.ErrorCodeResourceNotFound:
		return ErrNotFound
	case esdb.ErrorCodeConnectionClosed, esdb.ErrorCodeNotLeader, esdb.ErrorAborted, esdb.ErrorUnavailable,
		esdb.ErrorCodeDeadlineExceeded:
		return ErrUnavailable
	}
	return nil
}

// statusSentinel tells what a gRPC status means. What says nothing (Unknown, Internal, a bare EOF while sending)
// counts as unavailable: the outcome is unknown and the call is safe to repeat.
func statusSentinel(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return ErrUnavailable
	}
	switch status.Code(err) { //nolint:exhaustive // the rest is an unknown outcome
	case codes.PermissionDenied, codes.Unauthenticated:
		return ErrDenied
	case codes.InvalidArgument:
		return ErrPositionInvalid
	}
	return ErrUnavailable
}
