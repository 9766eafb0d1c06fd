package httpapi

import (
	"testing"

	"linkledger/commands"
)

func TestBatchIsAnOutageOnlyAsAWhole(t *testing.T) {
	t.Parallel()
	done, refused, away := commands.URLOutcome{}, commands.URLOutcome{Err: wrongInput("x")}, commands.URLOutcome{Err: commands.ErrUnavailable}
	for name, tc := range map[string]struct {
		items []commands.URLOutcome
		want  bool
	}{
		"all away":         {[]commands.URLOutcome{away, away}, true},
		"refused and away": {[]commands.URLOutcome{refused, away}, true},
		"one done":         {[]commands.URLOutcome{away, done}, false},
		"all refused":      {[]commands.URLOutcome{refused, refused}, false},
		"all done":         {[]commands.URLOutcome{done}, false},
	} {
		if got := outage(tc.items) != nil; got != tc.want {
			t.Errorf("%s is %v; want %v", name, got, tc.want)
		}
	}
}
