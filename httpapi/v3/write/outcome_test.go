package write

import (
	"testing"

	"linkledger/commands"
	"linkledger/httpapi/apierror"
)

func TestBatchIsAnOutageOnlyAsAWhole(t *testing.T) {
	t.Parallel()
	done, refused, away := commands.URLOutcome{}, commands.URLOutcome{
		Err: apierror.WrongInput("x"),
	}, commands.URLOutcome{Err: commands.ErrUnavailable}
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
		if got := Outage(tc.items) != nil; got != tc.want {
			t.Errorf("%s is %v; want %v", name, got, tc.want)
		}
	}
}
