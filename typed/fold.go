package typed

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Fold returns the same text for all spellings of a text. Spellings differ in case (STRASSE and
// straße, ΟΔΟΣ and οδος), in the kind of blanks, in how letters and their marks are composed, and
// in variation selectors.
//
// Fold is the only definition of "the same" for searches and labels. Its results are stored in read
// models, so a change of the results needs a new shape of their tables (package readmodel).
func Fold(text string) string {
	if IsASCII(text) {
		return strings.ToLower(text)
	}
	text = strings.Map(func(r rune) rune {
		switch {
		case Varies(r):
			return -1
		case unicode.Is(unicode.Zs, r):
			return ' '
		case unicode.Is(unicode.Cherokee, r):
			return unicode.ToUpper(r) // package cases exchanges the cases of this script
		}
		return r
	}, text)
	// Normalizing may change letters, so it comes before folding. Folding may undo the normal form,
	// so the result is normalized again.
	folder := cases.Fold()
	return norm.NFC.String(folder.String(norm.NFC.String(text)))
}
