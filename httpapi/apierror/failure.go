package apierror

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
	"linkledger/httpapi/request"
	"linkledger/queries"
	"linkledger/queries/linklist"
)

// Failure is what a client learns of an error.
type Failure struct {
	Code    Code
	Details string
	Fields  []string // of a URL
	Status  int

	RetryAfter time.Duration // 0: after a moment
}

// Refusal tells whether an error is a refusal, and what the client learns of it.
func Refusal(err error) (Failure, bool) {
	if refused, ok := errors.AsType[*Error](err); ok {
		f := Failure{Code: refused.Code, Details: clip(refused.Details), Status: cmp.Or(refused.Status, refused.Code.Status()), RetryAfter: refused.RetryAfter}
		return f, true
	}
	if refused, ok := errors.AsType[*domain.Error](err); ok {
		known, ok := kinds[refused.Kind]
		if !ok {
			return Failure{}, false
		}
		return Failure{Code: known, Details: clip(refused.Details), Fields: refused.Fields, Status: known.Status()}, true
	}
	if unknown, ok := errors.AsType[*linklist.UnknownTagError](err); ok {
		return Failure{Code: CodeTagNotFound, Details: clip(unknown.Error()), Status: CodeTagNotFound.Status()}, true
	}
	if errors.Is(err, queries.ErrNotFound) {
		return Failure{Code: CodeURLNotFound, Status: CodeURLNotFound.Status()}, true
	}
	return Failure{}, false
}

// maxLoggedError keeps what a client sent from reaching the log at full length, within an error.
const maxLoggedError = 2000 // code points

// Report returns what the client learns of an error that ends the request. What is no refusal is logged here, and
// nowhere else.
func Report(c *request.Context, logger *slog.Logger, err error) Failure {
	if f, ok := Refusal(err); ok {
		return f
	}
	if errors.Is(c.Context().Err(), context.Canceled) || errors.Is(err, request.ErrClientLeft) {
		logger.DebugContext(c.Context(), "client left", slog.String("request", c.ID), slog.String("error", clipTo(err.Error(), maxLoggedError)))
		return Failure{Code: CodeUnknown, Status: http.StatusServiceUnavailable}
	}
	logger.ErrorContext(c.Context(), "request failed", slog.String("request", c.ID),
		slog.String("method", c.KnownMethod()), slog.String("route", c.Route), slog.String("error", clipTo(err.Error(), maxLoggedError)))
	if errors.Is(err, commands.ErrCut) {
		return Failure{
			Code: CodeUnknown, Details: "Part of the history is missing in the event store. An operator has to look.",
			Status: http.StatusInternalServerError,
		}
	}
	if !isOutage(err) {
		return Failure{Code: CodeUnknown, Status: http.StatusInternalServerError}
	}
	return Failure{Code: CodeUnknown, Details: "The service cannot answer now, try again", Status: http.StatusServiceUnavailable}
}

// ReportPanic logs a panic, and returns what the client learns of it.
func ReportPanic(c *request.Context, logger *slog.Logger, value any) Failure {
	logger.ErrorContext(c.Context(), "request panicked", slog.String("request", c.ID), slog.String("panic", clipTo(fmt.Sprint(value), maxLoggedError)),
		slog.String("stack", string(debug.Stack())))
	return Failure{Code: CodeUnknown, Status: http.StatusInternalServerError}
}
