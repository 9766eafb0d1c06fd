package apierror

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"linkledger/commands"
	"linkledger/commands/clicks"
	"linkledger/commands/streams"
	"linkledger/events"
	"linkledger/queries"
	"linkledger/queries/linklist"
	"linkledger/waiting"
)

// Status 503 says that this node cannot serve now. Proxies then leave the node out, so a caller who
// could cause a 503 could take the node away from all callers. Only this file makes a 503: with the
// table of faults, Unavailable, Late and unknownState. A failure that the caller causes is a 4xx:
// TooMany, the other errors of this package, and the first faults of the table. For a request whose
// time is over, queries.Overran reports whether the caller caused it.

// StatusClientLeft is the status of a request whose client has left before the answer. nginx has
// the same number for it.
const StatusClientLeft = 499

// ErrClientLeft is the error of an operation that has ended because its client has left.
var ErrClientLeft = errors.New("the client has left")

// ErrTooMuch is the error of a request that asks for more than the database can read in time.
var ErrTooMuch = errors.New("the request asks for more than can be read in its time")

// faults has the failures for errors that are not refusals. The first entry that matches an error
// counts. An error without an entry is an internal one.
var faults = []struct {
	err     error
	failure Failure
}{
	// What callers cause.
	{ErrClientLeft, Failure{Code: CodeUnknown, Status: StatusClientLeft}},
	{ErrTooMuch, Failure{
		Code: CodeCallLimit, Status: http.StatusTooManyRequests,
		Details: "Reading what this call asks for takes too long: ask for less, such as fewer " +
			"links, fewer days or a longer search text",
		RetryAfter: tooMuchRetryAfter,
	}},
	{commands.ErrBusy, Failure{
		Code: CodeCallLimit, Status: http.StatusTooManyRequests,
		Details: "Too many calls change the same thing at the same time, repeat the call",
	}},

	// What only an operator can mend.
	{commands.ErrCut, Failure{
		Code: CodeUnknown, Status: http.StatusInternalServerError,
		Details: "Part of the history is missing in the event store. An operator has to look.",
	}},

	// This node cannot serve now, and may again once the event store or the database works again or
	// has less load.
	{commands.ErrRefusesWrites, Failure{
		Code: CodeUnknown, Status: http.StatusServiceUnavailable,
		Details: "The event store accepts no changes now: its disk is full or has failed. " +
			"Links are served. Try again later",
	}},
	{errOutage, unavailable},
	{commands.ErrUnavailable, unavailable},
	{streams.ErrNoKey, unavailable},
	{clicks.ErrClosed, unavailable},
	{context.DeadlineExceeded, unavailable},
	{context.Canceled, unavailable},
}

// tooMuchRetryAfter is longer than usual, because the same call would take as long again.
const tooMuchRetryAfter = 10 * time.Second

var unavailable = Failure{
	Code: CodeUnknown, Status: http.StatusServiceUnavailable,
	Details: "The service cannot answer now, try again",
}

// Fault returns the failure for an error that is not a refusal. It reveals nothing of the cause,
// except which part of the service does not answer.
func Fault(err error) Failure {
	if lost, ok := errors.AsType[*waiting.LostError](err); ok {
		failure := unavailable
		failure.Details = "The service cannot answer now, because " + lost.Error() + ": try again"
		return failure
	}
	for _, fault := range faults {
		if errors.Is(err, fault.err) {
			return fault.failure
		}
	}
	return Failure{Code: CodeUnknown, Status: http.StatusInternalServerError}
}

// errOutage matches errors that Unavailable has marked.
var errOutage = errors.New("outage")

// unavailableError marks an error of a query that failed because the database did.
type unavailableError struct{ err error }

// Error implements error.
func (u unavailableError) Error() string { return u.err.Error() }

// Unwrap returns the cause.
func (u unavailableError) Unwrap() error { return u.err }

// Is reports whether target is errOutage.
func (unavailableError) Is(target error) bool { return target == errOutage }

// Unavailable marks an error of a query as an outage, so that the client gets a 503. It returns err
// unchanged if err is nil, or if err says that what the query asks for does not exist.
func Unavailable(err error) error {
	if _, known := errors.AsType[*linklist.UnknownTagError](err); known || err == nil ||
		errors.Is(err, queries.ErrNotFound) {
		return err
	}
	return unavailableError{err}
}

// Late refuses a call that this node cannot answer now, for example because the read models do not
// show the call's own write in time. details tell the client what to do.
func Late(details string) error {
	return &Error{Code: CodeUnknown, Details: details, Status: http.StatusServiceUnavailable}
}

// unknownState returns the failure of a call that depends on an undecodable event, which a newer
// version or another program has written. The call has changed nothing that depends on the event.
// Calls that depend on it fail until an operator helps. All other calls work.
func unknownState(err *commands.DecodeError) Failure {
	of := "the account"
	switch {
	case strings.HasPrefix(err.Stream, events.StreamTags):
		of = "the tags of the account"
	case strings.HasPrefix(err.Stream, events.StreamWebhooks):
		of = "the webhooks of the account"
	case strings.HasPrefix(err.Stream, events.StreamUser),
		strings.HasPrefix(err.Stream, events.StreamIdentity):
		of = "the person"
	case strings.HasPrefix(err.Stream, events.StreamAllowance):
		of = "the URL"
	default:
		if _, ok := events.LinkIn(err.Stream); ok {
			of = "the URL"
		}
	}
	return Failure{
		Code: CodeUnknown, Status: http.StatusServiceUnavailable,
		Details: "The call depends on a change of " + of + " that this version of the service " +
			"cannot read: tell the operator of this service",
	}
}

// TooMany refuses a call because it takes too long, or because its caller has too many calls of the
// same kind at once. details tell the client which, and retryAfter says when to repeat the call.
func TooMany(details string, retryAfter time.Duration) error {
	return &Error{Code: CodeCallLimit, Details: details, RetryAfter: retryAfter}
}
