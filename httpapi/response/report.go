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
	"linkledger/queries"
)

// maxLoggedError bounds logged errors, because they may quote what the client sent.
const maxLoggedError = 2000 // code points

// Report returns the failure for an error that ends a request or an item. It logs errors that are
// not refusals: what the caller has caused for debugging only. No other code logs them.
func Report(c *request.Context, logger *slog.Logger, err error) apierror.Failure {
	if f, ok := apierror.Refusal(err); ok {
		return f
	}
	text := slog.String("error", apierror.Clip(err.Error(), maxLoggedError))
	if errors.Is(c.Context().Err(), context.Canceled) {
		err = apierror.ErrClientLeft
	} else if queries.Overran(c.Context()) {
		err = apierror.ErrTooMuch
	}
	f, level := apierror.Fault(err), slog.LevelError
	if f.Status < http.StatusInternalServerError {
		level = slog.LevelDebug
	}
	logger.LogAttrs(c.Context(), level, "request failed", slog.String("request", c.ID),
		slog.String("method", c.KnownMethod()), slog.String("route", c.Route),
		slog.Int("status", f.Status), text)
	return f
}

// ReportPanic logs a panic of a handler and returns the failure for it.
func ReportPanic(c *request.Context, logger *slog.Logger, value any) apierror.Failure {
	logger.ErrorContext(c.Context(), "request panicked", slog.String("request", c.ID),
		slog.String("panic", apierror.Clip(fmt.Sprint(value), maxLoggedError)),
		slog.String("stack", string(debug.Stack())))
	return apierror.Failure{Code: apierror.CodeUnknown, Status: http.StatusInternalServerError}
}
