package apierror

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"linkledger/commands"
	"linkledger/commands/clicks"
	"linkledger/commands/domain"
	"linkledger/commands/streams"
	"linkledger/queries"
	"linkledger/queries/linklist"
)

// maxDetails keeps what a client sent from coming back at full length.
const maxDetails = 300 // code points

// Error is a refusal of a request or of an item before a command or a query sees it.
type Error struct {
	Code    Code
	Details string // says in plain words what to mend
	Status  int    // 0: that of the code
	// RetryAfter is when a call that came too often may be repeated; 0: after a moment.
	RetryAfter time.Duration
}

// Error implements error.
func (e *Error) Error() string { return e.Code.Message() + ": " + e.Details }

// WrongInput refuses what a client sent. format and args say what to mend.
func WrongInput(format string, args ...any) error {
	return &Error{Code: CodeWrongInput, Details: fmt.Sprintf(format, args...)}
}

// unavailableError is an error of the read models, which means that they could not be asked.
type unavailableError struct{ err error }

// Error implements error.
func (u unavailableError) Error() string { return u.err.Error() }

// Unwrap gives the cause.
func (u unavailableError) Unwrap() error { return u.err }

// Unavailable marks what queries fail with, except that something is not there.
func Unavailable(err error) error {
	if _, known := errors.AsType[*linklist.UnknownTagError](err); known || err == nil ||
		errors.Is(err, queries.ErrNotFound) {
		return err
	}
	return unavailableError{err}
}

// isOutage tells whether an error will pass when the event store or the database is back, or less
// busy.
func isOutage(err error) bool {
	if _, ok := errors.AsType[unavailableError](err); ok {
		return true
	}
	for _, passing := range []error{
		commands.ErrUnavailable, commands.ErrBusy, streams.ErrNoKey, clicks.ErrClosed,
		context.DeadlineExceeded, context.Canceled,
	} {
		if errors.Is(err, passing) {
			return true
		}
	}
	return false
}

// RefusedAs tells whether an error is a refusal of a kind by the write side.
func RefusedAs(err error, kind domain.Kind) bool {
	refused, ok := errors.AsType[*domain.Error](err)
	return ok && refused.Kind == kind
}

// Count names a number of things.
func Count(n int64, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return strconv.FormatInt(n, 10) + " " + thing
}

func clip(details string) string { return Clip(details, maxDetails) }

// Clip returns as many code points of a text.
func Clip(details string, most int) string {
	n := 0
	for i := range details {
		if n == most {
			return strings.ToValidUTF8(details[:i], "") + "…"
		}
		n++
	}
	return details
}
