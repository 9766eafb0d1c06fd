package typed

import (
	"slices"
	"strings"
)

// Meant returns the index of the text that a spelling means, among texts that are the same as it
// under Fold: the one in exactly this spelling, else the first that differs in simple case, else
// the first of all. It returns -1 if there are none. Texts that are the same under Fold alone, such
// as straße and strasse, may stand side by side where simple case once told them apart.
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
