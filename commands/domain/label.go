package domain

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"linkledger/typed"
)

const maxLabel = 50 // code points

// autotags are labels with a meaning of their own in tag expressions.
var autotags = []string{"archived", "visited", "ping", "email_stats", "protected"}

// PlainLabel returns the form in which labels are compared. Labels that count as the same have the
// same form, see typed.Fold.
func PlainLabel(label string) string { return typed.Fold(strings.TrimSpace(label)) }

// DistinctLabels returns labels in their stored form, each once in its first spelling.
func DistinctLabels(labels []string) []string {
	distinct := make([]string, 0, len(labels))
	seen := make(map[string]bool, len(labels))
	for _, label := range labels {
		if key := PlainLabel(label); !seen[key] {
			seen[key] = true
			distinct = append(distinct, storedLabel(label))
		}
	}
	return distinct
}

// storedLabel returns the stored form of a label: trimmed, with one kind of blanks, and in the
// normal form that composes letters and their marks (NFC).
func storedLabel(label string) string {
	label = strings.TrimSpace(label)
	if typed.IsASCII(label) {
		return label
	}
	return norm.NFC.String(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Zs, r) {
			return ' '
		}
		return r
	}, label))
}

// checkLabel returns a label in its stored form. It refuses with InvalidLabel what the path of a
// URL or a tag expression cannot name, and what looks like another label.
func checkLabel(label string) (string, error) {
	if !utf8.ValidString(label) {
		return "", Refuse(InvalidLabel, "A tag label must be UTF-8")
	}
	if name, r := typed.Direction(label); name != "" {
		return "", Refuse(InvalidLabel, "A tag label must not contain %U (%s), which makes it "+
			"look like another one: remove it", r, name)
	}
	label = storedLabel(label)
	if n := utf8.RuneCountInString(label); n < 1 || n > maxLabel {
		return "", Refuse(InvalidLabel, "A tag label must have 1 to %d characters", maxLabel)
	}
	if label == "." || label == ".." {
		return "", Refuse(InvalidLabel, "The label %q cannot stand in the path of a URL", label)
	}
	if first, _ := utf8.DecodeRuneInString(label); unicode.IsMark(first) {
		return "", Refuse(
			InvalidLabel, "A tag label must not begin with a mark that needs a letter: %q", label,
		)
	}
	var before rune
	for i, r := range label {
		rest := label[i+utf8.RuneLen(r):]
		if why := notInLabel(before, r, rest); why != "" {
			return "", Refuse(
				InvalidLabel, "A tag label must not contain %s (%U): remove it", why, r,
			)
		}
		before = r
	}
	if slices.Contains(autotags, typed.Fold(label)) {
		return "", Refuse(
			InvalidLabel, "The label %q has a meaning of its own and cannot be a tag", label,
		)
	}
	return label, nil
}

// notInLabel returns why the character r cannot stand in a label between the character before and
// the rest. It returns an empty string if it can.
func notInLabel(before, r rune, rest string) string {
	switch {
	case r == '"':
		return "a quotation mark, which tag expressions need"
	case unicode.IsControl(r), unicode.In(r, unicode.Zl, unicode.Zp):
		return "a control character"
	case r == utf8.RuneError, unicode.Is(unicode.Co, r), r&0xfffe == 0xfffe,
		0xfdd0 <= r && r <= 0xfdef:
		return "a character without a meaning"
	case !typed.Invisible(r):
		return ""
	case typed.Varies(r):
		// Such a character only changes how the character before it looks.
		if before != 0 && before != ' ' {
			return ""
		}
	case r == '\u200d', r == '\u200c':
		// These joiners join emojis, and letters of Arabic and Indic scripts, or keep them apart.
		next, _ := utf8.DecodeRuneInString(rest)
		if joins(before) && joins(next) {
			return ""
		}
	}
	return "an invisible character"
}

// joins reports whether a joiner may stand beside a character.
func joins(r rune) bool {
	return r >= 0x100 && r != utf8.RuneError &&
		!unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Zs) &&
		(typed.Varies(r) || !typed.Invisible(r))
}
