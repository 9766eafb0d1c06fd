// Package failure says what an error of a batch means: whether one event is at fault, and whether
// the same batch may succeed later.
package failure

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/jackc/pgx/v5/pgconn"

	"linkledger/projections/connection"
	"linkledger/projections/projection"
)

// ErrPanicked means that applying a batch panicked.
var ErrPanicked = errors.New("panic")

// Recovered turns a panic into the error of the function that defers it.
func Recovered(err *error) {
	if cause := recover(); cause != nil {
		*err = fmt.Errorf("%w: %v\n%s", ErrPanicked, cause, debug.Stack())
	}
}

// OfEvent reports whether an error is the fault of one event. Such an error comes again whenever
// that event is applied, and no other event causes it. Either the fold refuses the event or panics,
// or PostgreSQL cannot store the result (classes 22, 23 and 54 of its error codes: data,
// constraints and limits).
func OfEvent(err error) bool {
	if _, ok := errors.AsType[*projection.EventError](err); ok || errors.Is(err, ErrPanicked) {
		return true
	}
	refused, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return false
	}
	switch refused.Code[:min(2, len(refused.Code))] {
	case "22", "23", "54":
		return true
	}
	return false
}

// Transient reports whether an error is temporary, so that the same batch may succeed later. Errors
// about an event are not temporary, and neither are errors of PostgreSQL about the statement, such
// as a missing table. All other errors are temporary: errors of the server and of the connection,
// also through a pooler.
func Transient(err error) bool {
	if OfEvent(err) {
		return false
	}
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return !ok || connection.OfServer(refused)
}
