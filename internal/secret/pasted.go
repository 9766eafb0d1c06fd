package secret

import (
	"strings"
	"unicode"
)

// Pasted returns a user name or secret as it was meant: without blanks, ends of lines and invisible
// characters around it, which editors, documents and messengers add. No name or secret of the
// service begins or ends with one of them.
func Pasted(text string) string { return strings.TrimFunc(text, isPadding) }

func isPadding(r rune) bool {
	return unicode.IsSpace(r) || unicode.In(r, unicode.Cc, unicode.Cf) // such as U+200B and U+FEFF
}
