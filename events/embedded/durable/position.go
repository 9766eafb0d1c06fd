package durable

import (
	"errors"
)

// ErrInsideEvent says that a position is not the beginning of an event.
var ErrInsideEvent = errors.New("no event begins at the position")
