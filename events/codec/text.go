package codec

// Texts are checked in the JSON of an event, so that no field can be forgotten.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// TextError means that an event has a text that cannot be stored and shown everywhere: a text with
// a control character, such as NUL or ESC, or a text that is not valid UTF-8.
type TextError struct {
	EventType string
	Field     string // name of the field in the body of the event
}

// Error implements error.
func (e *TextError) Error() string {
	return fmt.Sprintf(
		"%s: %s has a control character, or is not valid UTF-8", e.EventType, e.Field,
	)
}

// checkTexts returns a *TextError if the JSON of an event has a text that events.IsText refuses.
func checkTexts(eventType string, body []byte) error {
	if !hasOddText(body) {
		return nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if hasOddText(fields[name]) {
			return &TextError{EventType: eventType, Field: name}
		}
	}
	return &TextError{EventType: eventType, Field: "a name"}
}

// escapedNUL is NUL in a JSON text, and escapedReplacement the character that replaces it.
var escapedNUL, escapedReplacement = []byte(`\u0000`), []byte(`\ufffd`)

// withoutNUL replaces each NUL in a JSON text with U+FFFD.
func withoutNUL(body []byte) []byte {
	if !bytes.Contains(body, escapedNUL) {
		return body
	}
	clean := bytes.Clone(body)
	for i := 0; i+1 < len(clean); i++ {
		if clean[i] != '\\' {
			continue
		}
		if bytes.HasPrefix(clean[i:], escapedNUL) {
			copy(clean[i:], escapedReplacement)
		}
		i++ // past the escaped character, which may be a backslash
	}
	return clean
}

// hasOddText reports whether the output of encoding/json has a text that events.IsText refuses. It
// looks for DEL and C1 controls as they are, because encoding/json does not escape them. It looks
// for the escapes of C0 controls, and for \ufffd, which encoding/json writes for an invalid byte
// but not for U+FFFD itself.
func hasOddText(body []byte) bool {
	const del, c1 = 0x7f, 0xc2 // U+0080 to U+009F begin with the byte C2
	if bytes.IndexByte(body, del) >= 0 {
		return true
	}
	for rest := body; ; rest = rest[1:] {
		i := bytes.IndexByte(rest, c1)
		if i < 0 {
			break
		}
		if rest = rest[i:]; len(rest) > 1 && rest[1] < 0xa0 {
			return true
		}
	}
	return hasOddEscape(body)
}

// hasOddEscape reports whether a JSON text has an escaped control character, or the escape of an
// invalid byte.
func hasOddEscape(body []byte) bool {
	for {
		i := bytes.IndexByte(body, '\\')
		if i < 0 || i+1 == len(body) {
			return false
		}
		switch body[i+1] {
		case 'b', 'f', 'n', 'r', 't':
			return true
		case 'u':
			digits := body[i+2:]
			if bytes.HasPrefix(digits, []byte("00")) && len(digits) > 2 && digits[2] < '2' ||
				bytes.HasPrefix(digits, []byte("fffd")) {
				return true
			}
		}
		body = body[i+2:]
	}
}
