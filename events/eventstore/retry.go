package eventstore

import (
	"context"
	"errors"
	"fmt"
)

// MaxAttempts is how often a command is attempted. An attempt is lost only if another command
// succeeds on the same stream. A command that has enough time therefore fails with ErrBusy only
// after as many other commands have succeeded.
const MaxAttempts = 100

// contended is how many lost attempts show that a command runs out of time because of other
// commands, and not because of the event store.
const contended = 3

// Retry repeats an attempt while it returns ErrWrongRevision, at most MaxAttempts times. It returns
// ErrBusy if all attempts fail, or if the deadline of the caller passes after at least three
// attempts (contended) have failed.
func Retry[T any](attempt func() (T, error)) (T, error) {
	var none T
	for lost := range MaxAttempts {
		value, err := attempt()
		if lost >= contended && errors.Is(err, context.DeadlineExceeded) {
			return none, fmt.Errorf("%w (%d attempts): %w", ErrBusy, lost, err)
		}
		if !errors.Is(err, ErrWrongRevision) {
			return value, err
		}
	}
	return none, fmt.Errorf("%w (%d attempts)", ErrBusy, MaxAttempts)
}

// ErrBusy means that other writers were faster in every attempt. Nothing was written, unless the
// error is context.DeadlineExceeded too. In that case the outcome of the last attempt is unknown.
// The caller may try again.
var ErrBusy = errors.New("too many concurrent changes of the same thing, try again")
