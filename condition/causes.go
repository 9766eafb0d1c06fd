package condition

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode"
)

// maxCauses is the maximum number of known causes. Every line of a further cause is logged.
const maxCauses = 1_000

// varying are the attributes that may differ between the lines of one cause. They name the call,
// account or projection that has met the cause.
var varying = map[string]bool{
	"request": true, "method": true, "route": true, "account": true,
	"projection": true, "topic": true, "owner": true,
}

// Handler is a slog.Handler that does not log the same failure again for every call. It finds the
// cause of each warning and error that has the attribute "error". It logs a line when a cause
// begins, one a minute while the cause lasts, and one when it has ended. The last one is left out
// if the cause had a single line. Lines without a cause are logged unchanged.
//
// Two lines have the same cause if their messages, errors and other attributes are equal. Numbers,
// times, and attributes that name the call, account or projection may differ.
type Handler struct {
	next   slog.Handler
	causes *causes
}

type causes struct {
	mu    sync.Mutex
	known map[string]*cause
}

// cause is a cause whose first line has been logged. It is logged again once an interval while it
// lasts.
type cause struct {
	next   slog.Handler
	latest slog.Record
	began  time.Time
	times  int // lines so far, logged or not
	missed int // lines in the current interval, none of which was logged
}

// NewHandler returns a Handler that passes lines to next.
func NewHandler(next slog.Handler) *Handler {
	return &Handler{next: next, causes: &causes{known: make(map[string]*cause)}}
}

// Enabled implements slog.Handler.
func (h *Handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// WithAttrs implements slog.Handler.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &Handler{next: h.next.WithAttrs(attrs), causes: h.causes}
}

// WithGroup implements slog.Handler.
func (h *Handler) WithGroup(name string) slog.Handler {
	return &Handler{next: h.next.WithGroup(name), causes: h.causes}
}

// Handle implements slog.Handler.
func (h *Handler) Handle(ctx context.Context, r slog.Record) error {
	if key, ok := keyOf(r); ok && h.causes.met(key, h.next, r) {
		return nil
	}
	return h.next.Handle(ctx, r)
}

// met counts a line. It returns true if the cause of the line is already known, and the caller then
// does not log the line.
func (c *causes) met(key string, next slog.Handler, r slog.Record) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.known[key]; ok {
		known.latest, known.next = r, next
		known.times++
		known.missed++
		return true
	}
	if len(c.known) < maxCauses {
		c.known[key] = &cause{next: next, latest: r, began: r.Time, times: 1}
		time.AfterFunc(interval, func() { c.look(key) })
	}
	return false
}

// look runs at the end of each interval. It logs that a cause lasts if the interval had further
// lines, and otherwise that the cause has ended.
func (c *causes) look(key string) {
	c.mu.Lock()
	of := c.known[key]
	seen := *of
	of.missed = 0
	if seen.missed == 0 {
		delete(c.known, key)
	} else {
		time.AfterFunc(interval, func() { c.look(key) })
	}
	c.mu.Unlock()

	latest := seen.latest.Clone()
	lasted := latest.Time.Sub(seen.began).Round(time.Millisecond)
	switch {
	case seen.missed > 0:
		latest.AddAttrs(slog.Int("again", seen.missed), slog.Duration("for", lasted))
	case seen.times == 1: // a single line is no condition that ends
		return
	default:
		latest.Time, latest.Level = time.Now(), slog.LevelInfo
		latest.Message = "no longer: " + latest.Message
		latest.AddAttrs(slog.Int("times", seen.times), slog.Duration("lasted", lasted))
	}
	ctx := context.Background()
	if seen.next.Enabled(ctx, latest.Level) {
		_ = seen.next.Handle(ctx, latest) // there is nowhere to report the error
	}
}

// keyOf returns a key that all lines of one cause have in common. It returns false for a line that
// is always logged.
func keyOf(r slog.Record) (string, bool) {
	if r.Level < slog.LevelWarn {
		return "", false
	}
	var key strings.Builder
	key.WriteString(r.Message)
	found := false
	r.Attrs(func(a slog.Attr) bool {
		switch value := a.Value.Resolve(); {
		case a.Key == "error":
			found = true
			withoutNumbers(&key, value.String())
		case varying[a.Key]:
		case value.Kind() == slog.KindString:
			key.WriteString("\x00" + a.Key + "=" + value.String())
		}
		return true
	})
	return key.String(), found
}

// withoutNumbers writes text to out. It replaces each word that has a digit, such as a port, an id
// or a position, with #.
func withoutNumbers(out *strings.Builder, text string) {
	isWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	for text != "" {
		end := strings.IndexFunc(text, func(r rune) bool { return !isWord(r) })
		switch {
		case end < 0:
			end = len(text)
		case end == 0:
			end = strings.IndexFunc(text, isWord)
			if end < 0 {
				end = len(text)
			}
		}
		if word := text[:end]; strings.ContainsFunc(word, unicode.IsDigit) {
			out.WriteByte('#')
		} else {
			out.WriteString(word)
		}
		text = text[end:]
	}
}
