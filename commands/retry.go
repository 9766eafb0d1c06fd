package commands

import (
	"errors"
	"fmt"

	"linkledger/events/eventstore"
)

// maxAttempts bounds how often a command decides again. Every lost attempt is another command's success, so it is the
// number of concurrent writers of one stream that are served before one of them is told to come back.
const maxAttempts = 100

// retry repeats an attempt that lost against another writer.
func retry[T any](attempt func() (T, error)) (T, error) {
	for range maxAttempts {
		value, err := attempt()
		if !errors.Is(err, eventstore.ErrWrongRevision) {
			return value, err
		}
	}
	var none T
	return none, fmt.Errorf("%w (%d attempts)", ErrBusy, maxAttempts)
}

// ErrBusy means that other writers were faster in every attempt. Nothing was written; try again.
var ErrBusy = errors.New("too many concurrent changes of the same thing, try again")
