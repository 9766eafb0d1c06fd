package pgserver

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
)

const (
	// tailLines is how much of the server's log an error repeats.
	tailLines = 5
	// maxLine is the longest line of the server's log that is kept whole, in bytes.
	maxLine = 8 << 10
)

// serverLog hands the server's log to a logger line by line, and remembers the end.
type serverLog struct {
	logger *slog.Logger

	mu    sync.Mutex
	rest  []byte // the beginning of a line
	lines []string
	level slog.Level // of the latest message, which may have several lines
}

// Write takes the next piece of the log. It never fails.
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
	case "FATAL", "WARNING":
		l.level = slog.LevelWarn
	case "LOG", "INFO", "NOTICE", "ERROR":
		// An error of a statement is its caller's to report.
		l.level = slog.LevelDebug
	}
	l.logger.LogAttrs(context.Background(), l.level, "postgres", slog.String("line", line))
	l.lines = append(l.lines, line)
	if len(l.lines) > tailLines {
		l.lines = l.lines[1:]
	}
}

// tail returns the end of the log, ready to be put behind an error's text.
func (l *serverLog) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return lastLines(append(l.lines[:len(l.lines):len(l.lines)], string(l.rest)))
}

// lastLines joins the last lines that hold text into one, behind a colon.
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
