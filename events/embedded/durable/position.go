package durable

import (
	"errors"
)

// ErrInsideEvent is returned if no event begins at a position within the log.
var ErrInsideEvent = errors.New("no event begins at the position")
