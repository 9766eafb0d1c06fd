// Package typed interprets texts that people type and paste: it finds invisible characters, and
// decides which texts mean the same. It imports no other package of Linkledger.
package typed

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Trim returns a text without the blanks, line ends and invisible characters around it. A variation
// selector stays, because it belongs to the character before it.
func Trim(text string) string {
	return strings.TrimFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || Invisible(r) && !Varies(r)
	})
}

// Invisible reports whether a character shows nothing and is no blank. Such characters are joiners,
// marks of direction, variation selectors, fillers and the like. Invisible follows Unicode's
// property Default_Ignorable_Code_Point, with the exceptions below.
func Invisible(r rune) bool {
	switch {
	case r < 0xad:
		return false
	case r == '\u2800', r == '\ufffc', '\ufff9' <= r && r <= '\ufffb':
		// The Braille blank, the replacement for an object in a text, and marks of annotations.
		return true
	case unicode.Is(unicode.Cf, r):
		return !unicode.Is(unicode.Prepended_Concatenation_Mark, r) &&
			(r < 0x13430 || r > 0x1345f) // the excluded ones arrange hieroglyphs
	}
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// Varies reports whether a character only changes how the character before it looks. Such
// characters are variation selectors, and the tag characters in emojis of flags.
func Varies(r rune) bool {
	return r >= 0x180b && (unicode.Is(unicode.Variation_Selector, r) ||
		0xe0020 <= r && r <= 0xe007f)
}

// directions are the names of the characters that set the direction of the text after them. Such a
// character can make a text look like another text.
var directions = map[rune]string{
	'\u202a': "LEFT-TO-RIGHT EMBEDDING", '\u202b': "RIGHT-TO-LEFT EMBEDDING",
	'\u202c': "POP DIRECTIONAL FORMATTING",
	'\u202d': "LEFT-TO-RIGHT OVERRIDE", '\u202e': "RIGHT-TO-LEFT OVERRIDE",
	'\u2066': "LEFT-TO-RIGHT ISOLATE", '\u2067': "RIGHT-TO-LEFT ISOLATE",
	'\u2068': "FIRST STRONG ISOLATE", '\u2069': "POP DIRECTIONAL ISOLATE",
}

// Direction returns the first character in a text that sets the direction of writing, and its
// Unicode name. The name is empty and r is 0 if there is no such character.
func Direction(text string) (name string, r rune) {
	if IsASCII(text) {
		return "", 0
	}
	for _, r := range text {
		if name := directions[r]; name != "" {
			return name, r
		}
	}
	return "", 0
}

// IsASCII reports whether a text has ASCII characters only.
func IsASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
