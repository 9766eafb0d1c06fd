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

// varying are the attributes that may differ between lines of one cause. They name the call,
// account or projection that met the cause.
var varying = map[string]bool{
	"request": true, "method": true, "route": true, "account": true,
	"projection": true, "topic": true, "owner": true,
}

// Handler is a slog.Handler that logs a cause once, however many calls meet it: a line when it
// begins, one a minute while it lasts, and one when it has ended.
//
// Warnings and errors with the attribute "error" have the same cause if message, error and
// attributes are the same, except numbers, times and the attributes that name the call, account or
// projection. All other lines are logged unchanged.
type Handler struct {
	next   slog.Handler
	causes *causes
}

type causes struct {
	mu    sync.Mutex
	known map[string]*cause
}

// cause is what has been logged once and is logged again at intervals.
type cause struct {
	next   slog.Handler
	latest slog.Record
	began  time.Time
	times  int // lines, in all
	missed int // lines since the last interval that were not logged
}

// NewHandler returns a Handler that passes lines to another one.
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

// met reports whether the cause of a line was logged already. It counts the line.
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

// look logs at the end of an interval that a cause lasts or that it has ended.
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
	case seen.times == 1: // once is no state that ends
		return
	default:
		latest.Time, latest.Level = time.Now(), slog.LevelInfo
		latest.Message = "no longer: " + latest.Message
		latest.AddAttrs(slog.Int("times", seen.times), slog.Duration("lasted", lasted))
	}
	ctx := context.Background()
	if seen.next.Enabled(ctx, latest.Level) {
		_ = seen.next.Handle(ctx, latest) // there is nowhere to tell it
	}
}

// keyOf returns what the lines of one cause have in common. It returns false for a line that is
// always logged.
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

// withoutNumbers writes text to out and replaces each word that has a digit with #: ports, ids,
// positions.
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
