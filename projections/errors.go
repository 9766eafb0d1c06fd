package projections

import (
	"errors"
	"fmt"

	"linkledger/events/eventstore"
)

var (
	// ErrFenced means that the checkpoint is not where this process knows it to be, or that another process owns it.
	// Nothing was changed.
	ErrFenced = errors.New("checkpoint was moved, or another process owns it")
	// ErrNotPrepared means that the database lacks the tables of a projection: call Prepare.
	ErrNotPrepared = errors.New("projection is not prepared")
	// ErrStopped means that the projections ended although nobody asked them to.
	ErrStopped = errors.New("projections stopped by themselves")
	// ErrPaused means that an operator has paused the projection: resume it.
	ErrPaused = errors.New("paused by an operator")
	// ErrOtherLog means that the read models were built from another log than the event store's: give the service an empty
	// database, or the event store that belongs to this one.
	ErrOtherLog = errors.New("the database belongs to another log")
	// ErrUnknownProjection means that there is no projection of that name.
	ErrUnknownProjection = errors.New("unknown projection")
	// ErrContradiction means that an event does not fit what came before it, such as the edit of a link that was never
	// created: the log is damaged or the program is wrong.
	ErrContradiction = errors.New("event contradicts the history before it")
)

// EventError tells which event can't be applied. The projection stands right before it.
type EventError struct {
	Stream   string
	Revision eventstore.Revision
	Position eventstore.Position
	Type     string
	Err      error

	index int // in its batch
}

func newEventError(e eventstore.Recorded, index int, err error) *EventError {
	return &EventError{
		Stream: e.Stream, Revision: e.Revision, Position: e.Position, Type: e.Type, Err: err, index: index,
	}
}

// Error implements error.
func (e *EventError) Error() string {
	return fmt.Sprintf("%s, event %d of %s at position %s: %v", e.Type, e.Revision, e.Stream, e.Position, e.Err)
}

// Unwrap returns the cause.
func (e *EventError) Unwrap() error { return e.Err }
