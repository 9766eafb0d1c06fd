// Package audittest compares the entries of histories in tests.
package audittest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"linkledger/commands/audit"
)

// LinesOf formats entries as lines for comparison: type, actor and changes.
func LinesOf(entries []audit.Entry) []string {
	lines := make([]string, len(entries))
	for i, e := range entries {
		var line strings.Builder
		actor := e.Actor.Account
		if e.Actor.Kind != audit.ByAccount {
			actor = string(e.Actor.Kind)
		}
		fmt.Fprintf(&line, "%s by %q", e.Type, actor)
		for _, c := range e.Changes {
			fmt.Fprintf(&line, " %s: %v -> %v", c.Field, c.Before, c.After)
		}
		lines[i] = line.String()
	}
	return lines
}

// WantEntries compares entries with lines of LinesOf.
func WantEntries(t *testing.T, entries []audit.Entry, want ...string) {
	t.Helper()
	if got := LinesOf(entries); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
