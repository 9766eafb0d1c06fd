package response

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"

	"linkledger/commands"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/request"
	"linkledger/queries"
)

// maxLoggedError bounds logged errors, because they may quote what the client sent.
const maxLoggedError = 2000 // code points

// Report returns the failure for an error that ends a request or an item. It logs every error that
// is not a refusal. If the caller has caused the error, it logs at the level debug. It also logs
// each event that cannot be decoded, but only once. No other code logs these errors.
func Report(c *request.Context, logger *slog.Logger, err error) apierror.Failure {
	if f, ok := apierror.Refusal(err); ok {
		if undecoded, ok := errors.AsType[*commands.DecodeError](err); ok && isNew(undecoded) {
			logger.ErrorContext(c.Context(), "event cannot be read, calls that depend on it are "+
				"answered with status 503: see Events that cannot be applied in docs/operating.md",
				slog.String("request", c.ID), slog.String("stream", undecoded.Stream),
				slog.Int64("revision", int64(undecoded.Revision)),
				slog.String("type", undecoded.Type), slog.Any("error", undecoded.Err))
		}
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

// maxUndecoded bounds the events that isNew remembers.
const maxUndecoded = 1000

// undecoded are the events that isNew has been asked about.
var undecoded = struct {
	mu   sync.Mutex
	seen map[string]struct{}
}{seen: make(map[string]struct{})}

// isNew reports whether this is the first time that this process meets an undecodable event. Calls
// may meet the same event again and again.
func isNew(e *commands.DecodeError) bool {
	name := fmt.Sprint(e.Stream, " ", e.Position)
	undecoded.mu.Lock()
	defer undecoded.mu.Unlock()
	if _, ok := undecoded.seen[name]; ok {
		return false
	}
	if len(undecoded.seen) >= maxUndecoded {
		clear(undecoded.seen)
	}
	undecoded.seen[name] = struct{}{}
	return true
}

// ReportPanic logs a panic of a handler and returns the failure for it.
func ReportPanic(c *request.Context, logger *slog.Logger, value any) apierror.Failure {
	logger.ErrorContext(c.Context(), "request panicked", slog.String("request", c.ID),
		slog.String("panic", apierror.Clip(fmt.Sprint(value), maxLoggedError)),
		slog.String("stack", string(debug.Stack())))
	return apierror.Failure{Code: apierror.CodeUnknown, Status: http.StatusInternalServerError}
}
