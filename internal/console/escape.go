package console

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Escape returns a text that fits one line of a terminal. Characters that could end the line, move
// the cursor, change colors or turn the direction of text become escapes of JSON, such as \u001b.
// So do bytes that are not UTF-8.
func Escape(text string) string {
	if clean(text, "") {
		return text
	}
	shown, rest := appendEscaped(nil, []byte(text), "")
	for range rest {
		shown = append(shown, invalid...)
	}
	return string(shown)
}

// Error returns the text of an error, escaped as Escape does. Errors that errors.Join has joined
// are on lines of their own.
func Error(err error) string {
	text := err.Error()
	switch parts := err.(type) { //nolint:errorlint // each error is shown as it is
	case interface{ Unwrap() error }:
		inner := parts.Unwrap()
		if inner == nil {
			break
		}
		if before, after, found := strings.Cut(text, inner.Error()); found {
			return Escape(before) + Error(inner) + Escape(after)
		}
	case interface{ Unwrap() []error }:
		var raw, shown []string
		for _, part := range parts.Unwrap() {
			raw, shown = append(raw, part.Error()), append(shown, Error(part))
		}
		if strings.Join(raw, "\n") == text {
			return strings.Join(shown, "\n")
		}
	}
	return Escape(text)
}

// invalid is the escape of a byte that is not UTF-8. Decoders of JSON read the byte and the escape
// as the same character.
const invalid = `\ufffd`

// hidden are the characters that terminals do not show as text: controls, ends of lines and
// paragraphs, marks of direction, and the byte order mark. Other invisible characters stay, because
// scripts and emoji need them.
var hidden = []*unicode.RangeTable{unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control, {
	R16: []unicode.Range16{{Lo: 0xfeff, Hi: 0xfeff, Stride: 1}},
}}

// clean reports whether a text is ASCII that needs no escapes. The control characters in kept need
// none.
func clean[T string | []byte](text T, kept string) bool {
	for i := range len(text) {
		c := text[i]
		if (c < ' ' || c > '~') && bytes.IndexByte([]byte(kept), c) < 0 {
			return false
		}
	}
	return true
}

// appendEscaped appends a text with its hidden characters escaped, except those in kept. If the
// text ends within a character, rest is the beginning of that character.
func appendEscaped(shown, text []byte, kept string) (escaped, rest []byte) {
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && size == 1:
			if !utf8.FullRune(text) {
				return shown, text
			}
			shown = append(shown, invalid...)
		case !unicode.In(r, hidden...) || bytes.ContainsRune([]byte(kept), r):
			shown = append(shown, text[:size]...)
		default:
			shown = appendCode(shown, r)
		}
		text = text[size:]
	}
	return shown, nil
}

// appendCode appends the escape of a hidden character, which has at most 16 bits.
func appendCode(shown []byte, r rune) []byte {
	switch r {
	case '\n':
		return append(shown, `\n`...)
	case '\r':
		return append(shown, `\r`...)
	case '\t':
		return append(shown, `\t`...)
	}
	const digits = "0123456789abcdef"
	return append(
		shown, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15],
	)
}

// Output is an output of a process. It escapes all that is written to it, as Escape does, except
// line breaks and tabs. JSON remains the same JSON. If a write ends within a character, Output
// keeps the beginning of the character until the next write. Its methods can be called
// concurrently.
type Output struct {
	to io.Writer

	mu   sync.Mutex
	rest []byte // the beginning of a character
}

// NewOutput returns an output that escapes what is written to w.
func NewOutput(w io.Writer) *Output { return &Output{to: w} }

// Write implements io.Writer.
func (o *Output) Write(text []byte) (int, error) {
	const kept = "\n\t"
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.rest) == 0 && clean(text, kept) {
		return o.to.Write(text)
	}
	shown, rest := appendEscaped(nil, append(o.rest, text...), kept)
	o.rest = bytes.Clone(rest)
	if _, err := o.to.Write(shown); err != nil {
		return 0, err
	}
	return len(text), nil
}

// exactly returns the writer below an Output.
func exactly(w io.Writer) io.Writer {
	if output, ok := w.(*Output); ok {
		return output.to
	}
	return w
}

// fileOf returns the writer below an Output. If that writer wraps another one, fileOf returns the
// other one.
func fileOf(w io.Writer) io.Writer {
	w = exactly(w)
	if wrapped, ok := w.(interface{ Unwrap() io.Writer }); ok {
		return wrapped.Unwrap()
	}
	return w
}

// Exact returns a writer for data that must stay exact to the byte, such as an export. It escapes
// only for a terminal.
func Exact(w io.Writer) io.Writer {
	if IsTerminal(w) {
		return w
	}
	return exactly(w)
}

// Controls returns a writer for control characters of this program, for example of a progress bar.
// Texts that are not from this program MUST NOT be written to it.
func Controls(terminal io.Writer) io.Writer { return exactly(terminal) }
