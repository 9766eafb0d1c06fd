package pgserver

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
)

const (
	// tailLines is how many lines of the server's log an error contains.
	tailLines = 5
	// maxLine is the maximum length of a line of the server's log, in bytes. Longer lines are
	// split.
	maxLine = 8 << 10
)

// serverLog passes the server's log to a logger line by line, and keeps the last lines.
type serverLog struct {
	logger *slog.Logger

	mu    sync.Mutex
	rest  []byte // an incomplete line
	lines []string
	level slog.Level // of the latest message, which may have several lines
}

// Write adds a part of the log. It never fails.
func (l *serverLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, p...)
	for {
		line, rest, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole {
			break
		}
		l.emit(string(line))
		l.rest = rest
	}
	if len(l.rest) > maxLine {
		l.emit(string(l.rest[:maxLine]))
		l.rest = nil
	}
	return len(p), nil
}

func (l *serverLog) emit(line string) {
	severity, _, _ := strings.Cut(strings.TrimSpace(line), ":")
	switch severity {
	case "PANIC":
		l.level = slog.LevelError
	case "WARNING":
		l.level = slog.LevelWarn
	case "LOG", "INFO", "NOTICE", "ERROR", "FATAL":
		// The caller of a statement or of a connection reports its errors.
		l.level = slog.LevelDebug
	}
	l.logger.LogAttrs(context.Background(), l.level, "postgres", slog.String("line", line))
	l.lines = append(l.lines, line)
	if len(l.lines) > tailLines {
		l.lines = l.lines[1:]
	}
}

// tail returns the last lines of the log as a suffix for an error message.
func (l *serverLog) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return lastLines(append(l.lines[:len(l.lines):len(l.lines)], string(l.rest)))
}

// lastLines joins the last non-empty lines into one, after a colon.
func lastLines(lines []string) string {
	var kept []string
	for _, line := range lines {
		if line = strings.TrimSpace(line); line != "" {
			kept = append(kept, line)
		}
	}
	if len(kept) == 0 {
		return ""
	}
	return ": " + strings.Join(kept[max(0, len(kept)-tailLines):], " | ")
}
