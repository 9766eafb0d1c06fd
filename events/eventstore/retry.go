package eventstore

import (
	"errors"
	"fmt"
)

// MaxAttempts is how often a command decides. Every lost attempt is the success of another command,
// so this is the number of concurrent writers of one stream that succeed before one of them fails
// with ErrBusy.
const MaxAttempts = 100

// Retry repeats an attempt while it returns ErrWrongRevision, at most MaxAttempts times. It returns
// ErrBusy if all attempts fail.
func Retry[T any](attempt func() (T, error)) (T, error) {
	for range MaxAttempts {
		value, err := attempt()
		if !errors.Is(err, ErrWrongRevision) {
			return value, err
		}
	}
	var none T
	return none, fmt.Errorf("%w (%d attempts)", ErrBusy, MaxAttempts)
}

// ErrBusy means that other writers were faster in every attempt. Nothing was written. The caller
// may try again.
var ErrBusy = errors.New("too many concurrent changes of the same thing, try again")
