package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"linkledger/commands"
	"linkledger/commands/domain"
	"linkledger/queries"
	"linkledger/queries/linklist"
)

// failure is what a client learns of an error.
type failure struct {
	code    code
	details string
	fields  []string // of a URL
	status  int

	retryAfter time.Duration // 0: after a moment
}

// refusal tells whether an error is a refusal, and what the client learns of it.
func refusal(err error) (failure, bool) {
	if refused, ok := errors.AsType[*apiError](err); ok {
		f := failure{code: refused.code, details: clip(refused.details), status: cmp.Or(refused.status, refused.code.httpStatus()), retryAfter: refused.retryAfter}
		return f, true
	}
	if refused, ok := errors.AsType[*domain.Error](err); ok {
		known, ok := kinds[refused.Kind]
		if !ok {
			return failure{}, false
		}
		return failure{code: known, details: clip(refused.Details), fields: refused.Fields, status: known.httpStatus()}, true
	}
	if unknown, ok := errors.AsType[*linklist.UnknownTagError](err); ok {
		return failure{code: codeTagNotFound, details: clip(unknown.Error()), status: codeTagNotFound.httpStatus()}, true
	}
	if errors.Is(err, queries.ErrNotFound) {
		return failure{code: codeURLNotFound, status: codeURLNotFound.httpStatus()}, true
	}
	return failure{}, false
}

// maxLoggedError keeps what a client sent from reaching the log at full length, within an error.
const maxLoggedError = 2000 // code points

// failureOf returns what the client learns of an error that ends the request. What is no refusal is logged here, and
// nowhere else.
func failureOf(c *exchange, logger *slog.Logger, err error) failure {
	if f, ok := refusal(err); ok {
		return f
	}
	if errors.Is(c.context().Err(), context.Canceled) || errors.Is(err, errClientLeft) {
		logger.DebugContext(c.context(), "client left", slog.String("request", c.id), slog.String("error", clipTo(err.Error(), maxLoggedError)))
		return failure{code: codeUnknown, status: http.StatusServiceUnavailable}
	}
	logger.ErrorContext(c.context(), "request failed", slog.String("request", c.id),
		slog.String("method", c.knownMethod()), slog.String("route", c.route), slog.String("error", clipTo(err.Error(), maxLoggedError)))
	if errors.Is(err, commands.ErrCut) {
		return failure{
			code: codeUnknown, details: "Part of the history is missing in the event store. An operator has to look.",
			status: http.StatusInternalServerError,
		}
	}
	if !isOutage(err) {
		return failure{code: codeUnknown, status: http.StatusInternalServerError}
	}
	return failure{code: codeUnknown, details: "The service cannot answer now, try again", status: http.StatusServiceUnavailable}
}

// panicked logs a panic, and returns what the client learns of it.
func panicked(c *exchange, logger *slog.Logger, value any) failure {
	logger.ErrorContext(c.context(), "request panicked", slog.String("request", c.id), slog.String("panic", clipTo(fmt.Sprint(value), maxLoggedError)),
		slog.String("stack", string(debug.Stack())))
	return failure{code: codeUnknown, status: http.StatusInternalServerError}
}
