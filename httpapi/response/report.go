package response

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/request"
)

// maxLoggedError keeps what a client sent from reaching the log at full length, within an error.
const maxLoggedError = 2000 // code points

// Report returns what the client learns of an error that ends the request. What is no refusal is
// logged here, and nowhere else.
func Report(c *request.Context, logger *slog.Logger, err error) apierror.Failure {
	if f, ok := apierror.Refusal(err); ok {
		return f
	}
	text := slog.String("error", apierror.Clip(err.Error(), maxLoggedError))
	if errors.Is(c.Context().Err(), context.Canceled) || errors.Is(err, request.ErrClientLeft) {
		logger.DebugContext(c.Context(), "client left", slog.String("request", c.ID), text)
		return apierror.Failure{Code: apierror.CodeUnknown, Status: http.StatusServiceUnavailable}
	}
	logger.ErrorContext(c.Context(), "request failed", slog.String("request", c.ID),
		slog.String("method", c.KnownMethod()), slog.String("route", c.Route), text)
	return apierror.Fault(err)
}

// ReportPanic logs a panic, and returns what the client learns of it.
func ReportPanic(c *request.Context, logger *slog.Logger, value any) apierror.Failure {
	logger.ErrorContext(c.Context(), "request panicked", slog.String("request", c.ID),
		slog.String("panic", apierror.Clip(fmt.Sprint(value), maxLoggedError)),
		slog.String("stack", string(debug.Stack())))
	return apierror.Failure{Code: apierror.CodeUnknown, Status: http.StatusInternalServerError}
}
