package console

import (
	"io"
	"log/slog"
)

// NewLogger returns a logger that writes text for people, or JSON for programs with durations in
// seconds.
func NewLogger(w io.Writer, format string, level slog.Level) *slog.Logger {
	if format == "text" {
		return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
	}
	seconds := func(_ []string, a slog.Attr) slog.Attr {
		if a.Value.Kind() == slog.KindDuration {
			a.Value = slog.Float64Value(a.Value.Duration().Seconds())
		}
		return a
	}
	return slog.New(
		slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: seconds}),
	)
}
