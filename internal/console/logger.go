package console

import (
	"io"
	"log/slog"

	"linkledger/condition"
)

// NewLogger returns a logger that writes text for people, or JSON for programs with durations in
// seconds. It logs the same cause once a minute at most, however many calls fail for it.
func NewLogger(w io.Writer, format string, level slog.Level) *slog.Logger {
	if format == "text" {
		return slog.New(condition.NewHandler(
			slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}),
		))
	}
	seconds := func(_ []string, a slog.Attr) slog.Attr {
		if a.Value.Kind() == slog.KindDuration {
			a.Value = slog.Float64Value(a.Value.Duration().Seconds())
		}
		return a
	}
	return slog.New(condition.NewHandler(
		slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: seconds}),
	))
}
