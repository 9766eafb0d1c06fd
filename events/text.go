package events

// This file defines which texts an event may have. Control characters are excluded, because
// PostgreSQL cannot store NUL, and terminals obey control characters.

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// IsText reports whether an event may have a text: the text is valid UTF-8 and has no control
// characters (Unicode category Cc).
func IsText(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// CleanText replaces control characters and invalid UTF-8 with U+FFFD, so that an event may have
// the text.
func CleanText(text string) string {
	if IsText(text) {
		return text
	}
	const replacement = string(utf8.RuneError)
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(text, replacement))
}
