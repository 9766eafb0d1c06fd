package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// hostileTexts are texts that some part cannot store, show or compare, and texts at the bounds of fields. The first
// ones have stopped a projection or reached a terminal.
var hostileTexts = []string{
	"a\x00b", "\x1b[31m\a", "\x7f", "\u009b2J", "💩", "\xed\xa0\x80", "a\xffb",
	"a\r\nb: c", "\t", "\ufffe\uffff", "\u2028\u2029", "\u202e\u2066\u061c", "\ufeff", "e\u0301\u0327", "👩\u200d👩\u200d👧",
	"İſK", "\ufffd", "\U0010ffff", "", " ", "  a  ", `\u0000`, `\`, `"`, "'", "%00", "%", "<b>&", "{}", "null",
	strings.Repeat("é", 25), strings.Repeat("é", 26), strings.Repeat("💩", 100), strings.Repeat("💩", 101),
	strings.Repeat("a", 255), strings.Repeat("a", 256), strings.Repeat("漢", 2028), strings.Repeat("a", 2049),
}

// hostileNumbers are numbers at the bounds of types, as JSON.
var hostileNumbers = []string{
	"0", "-0", "-1", "1", "1.0", "1.5", "1e2", "1e-2", "1e400", "-1e400", "1e-400", "2147483647", "2147483648",
	"9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
	"18446744073709551616", strings.Repeat("9", 400), "true", "null",
}

// hostileDates are dates and times at and beyond the ends of the calendar.
var hostileDates = []string{
	"0000-01-01", "0000-02-29", "0001-01-01", "9999-12-31", "10000-01-01", "-0001-01-01", "2026-02-30", "2026-05-14",
	"2030-01-31", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "2026-05-14T12:00:00+23:59", "infinity",
}

// hostileLists are the lengths of lists at their bounds.
var hostileLists = []int{0, 1, 2, 50, 51, 100, 101, 1000, 1001}

// forms returns the forms in which a text may get through the checks of a field: unchanged, after an example of the
// field, and in quotes.
func forms(text, example string) []string {
	if text == "" {
		return []string{text}
	}
	return []string{text, example + text, `"` + text + `"`}
}

// hostileStrings returns all texts, numbers and dates in their forms, for a place that takes texts.
func hostileStrings(example string) []string {
	var all []string
	for _, text := range hostileTexts {
		all = append(all, forms(text, example)...)
	}
	return append(append(all, hostileNumbers...), hostileDates...)
}

// hostileJSON returns values for a field of JSON, as JSON.
func hostileJSON(example string, list bool) []string {
	texts := hostileStrings(example)
	all := []string{`"\ud800"`, `"a\udc00\ud800b"`, `"\u0000"`, `"` + example + `\u0000"`}
	for _, text := range texts {
		all = append(all, quoteJSON(text))
	}
	all = append(all, hostileNumbers...)
	if !list {
		return append(all, "{}", "[]", `["a"]`)
	}
	for i, value := range all {
		all[i] = "[" + value + "]"
	}
	for _, length := range hostileLists {
		different := make([]string, length)
		for i := range different {
			different[i] = quoteJSON(fmt.Sprint(example, i))
		}
		all = append(
			all, "["+strings.Join(different, ",")+"]",
			"["+strings.TrimSuffix(strings.Repeat(quoteJSON(example)+",", length), ",")+"]",
		)
	}
	return all
}

// quoteJSON returns a text as JSON. Bytes that are not UTF-8 stay.
func quoteJSON(text string) string {
	if !utf8.ValidString(text) {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
	}
	var quoted bytes.Buffer
	encoder := json.NewEncoder(&quoted)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text)
	return strings.TrimSuffix(quoted.String(), "\n")
}
