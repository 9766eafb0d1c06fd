package typed

import (
	"slices"
	"strings"
)

// Meant returns the index in same of the text that a spelling means. same are texts for which Fold
// returns the same as for the spelling. The text in exactly this spelling wins, then the first one
// that differs only in simple case, then the first one. Meant returns -1 if same is empty. same
// may have several texts, such as straße and strasse, because an older version of Linkledger
// compared simple case only and took them for different texts.
func Meant(spelling string, same []string) int {
	if len(same) < 2 {
		return len(same) - 1
	}
	if i := slices.Index(same, spelling); i >= 0 {
		return i
	}
	return max(0, slices.IndexFunc(same, func(text string) bool {
		return strings.EqualFold(text, spelling)
	}))
}
