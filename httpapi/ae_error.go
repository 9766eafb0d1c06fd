package httpapi

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"linkledger/commands"
	"linkledger/commands/domain"
	"linkledger/queries"
	"linkledger/queries/linklist"
)

// maxDetails keeps what a client sent from coming back at full length.
const maxDetails = 300 // code points

// apiError is a refusal of a request or of an item by this package.
type apiError struct {
	code    code
	details string // says in plain words what to mend
	status  int    // 0: that of the code
	// retryAfter is when a call that came too often may be repeated; 0: after a moment.
	retryAfter time.Duration
}

// Error implements error.
func (e *apiError) Error() string { return e.code.message() + ": " + e.details }

// wrongInput refuses what a client sent. format and args say what to mend.
func wrongInput(format string, args ...any) error {
	return &apiError{code: codeWrongInput, details: fmt.Sprintf(format, args...)}
}

// unread is an error of the read models, which means that they could not be asked.
type unread struct{ err error }

// Error implements error.
func (u unread) Error() string { return u.err.Error() }

// Unwrap gives the cause.
func (u unread) Unwrap() error { return u.err }

// answered marks what queries fail with, except that something is not there.
func answered(err error) error {
	if _, known := errors.AsType[*linklist.UnknownTagError](err); known || err == nil || errors.Is(err, queries.ErrNotFound) {
		return err
	}
	return unread{err}
}

// isOutage tells whether an error will pass when the event store or the database is back, or less busy.
func isOutage(err error) bool {
	if _, ok := errors.AsType[unread](err); ok {
		return true
	}
	for _, passing := range []error{
		commands.ErrUnavailable, commands.ErrBusy, commands.ErrNoKey, commands.ErrClicksClosed, context.DeadlineExceeded, context.Canceled,
	} {
		if errors.Is(err, passing) {
			return true
		}
	}
	return false
}

// refusedAs tells whether an error is a refusal of a kind by the write side.
func refusedAs(err error, kind domain.Kind) bool {
	refused, ok := errors.AsType[*domain.Error](err)
	return ok && refused.Kind == kind
}

// count names a number of things.
func count(n int64, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return strconv.FormatInt(n, 10) + " " + thing
}

func clip(details string) string { return clipTo(details, maxDetails) }

// clipTo returns as many code points of a text.
func clipTo(details string, most int) string {
	n := 0
	for i := range details {
		if n == most {
			return strings.ToValidUTF8(details[:i], "") + "…"
		}
		n++
	}
	return details
}
