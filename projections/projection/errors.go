package projection

import (
	"errors"
	"fmt"

	"linkledger/events/eventstore"
)

var (
	// ErrUnknown means that no projection has the given name.
	ErrUnknown = errors.New("unknown projection")
	// ErrContradiction means that an event contradicts earlier ones, such as the edit of a link
	// that was never created. The log is damaged or the program is wrong.
	ErrContradiction = errors.New("event contradicts the history before it")
)

// EventError identifies an event that cannot be applied. The projection is at the position right
// before it.
type EventError struct {
	Stream   string
	Revision eventstore.Revision
	Position eventstore.Position
	Type     string
	Err      error

	Index int // of the event in its batch
}

// NewEventError returns the error about an event. index is its place in the batch.
func NewEventError(e eventstore.Recorded, index int, err error) *EventError {
	return &EventError{
		Stream: e.Stream, Revision: e.Revision, Position: e.Position, Type: e.Type, Err: err,
		Index: index,
	}
}

// Error implements error.
func (e *EventError) Error() string {
	return fmt.Sprintf(
		"%s, event %d of %s at position %s: %v", e.Type, e.Revision, e.Stream, e.Position, e.Err,
	)
}

// Unwrap returns the cause.
func (e *EventError) Unwrap() error { return e.Err }
