package events_test

import (
	"testing"

	"linkledger/events"
)

// TestTexts checks which texts an event may have, and what CleanText makes of the others.
func TestTexts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, clean string }{
		"empty":              {"", ""},
		"letters and emojis": {"Ünï 😀\u00a0\u2028", "Ünï 😀\u00a0\u2028"},
		"a replacement":      {"\ufffd", "\ufffd"},
		"NUL":                {"a\x00b", "a\ufffdb"},
		"ESC":                {"\x1b[2J", "\ufffd[2J"},
		"a line break":       {"a\nb", "a\ufffdb"},
		"DEL":                {"\x7f", "\ufffd"},
		"a C1 control":       {"a\u009bb", "a\ufffdb"},
		"an invalid byte":    {"a\xffb", "a\ufffdb"},
	} {
		if got := events.IsText(test.text); got != (test.text == test.clean) {
			t.Errorf("%s: an event may have it: %t", name, got)
		}
		if got := events.CleanText(test.text); got != test.clean {
			t.Errorf("%s is cleaned to %q, want %q", name, got, test.clean)
		}
	}
}
