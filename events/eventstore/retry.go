package eventstore

import (
	"errors"
	"fmt"
)

// MaxAttempts bounds how often a command decides again. Every lost attempt is another command's
// success, so it is the number of concurrent writers of one stream that are served before one of
// them is told to come back.
const MaxAttempts = 100

// Retry repeats an attempt that lost against another writer.
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

// ErrBusy means that other writers were faster in every attempt. Nothing was written; try again.
var ErrBusy = errors.New("too many concurrent changes of the same thing, try again")
