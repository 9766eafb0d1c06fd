package write

import (
	"testing"

	"linkledger/commands"
	"linkledger/commands/linkwrite"
	"linkledger/httpapi/apierror"
)

func TestBatchIsAnOutageOnlyAsAWhole(t *testing.T) {
	t.Parallel()
	done, refused, away := linkwrite.Outcome{}, linkwrite.Outcome{
		Err: apierror.WrongInput("x"),
	}, linkwrite.Outcome{Err: commands.ErrUnavailable}
	for name, tc := range map[string]struct {
		items []linkwrite.Outcome
		want  bool
	}{
		"all away":         {[]linkwrite.Outcome{away, away}, true},
		"refused and away": {[]linkwrite.Outcome{refused, away}, true},
		"one done":         {[]linkwrite.Outcome{away, done}, false},
		"all refused":      {[]linkwrite.Outcome{refused, refused}, false},
		"all done":         {[]linkwrite.Outcome{done}, false},
	} {
		if got := Outage(tc.items) != nil; got != tc.want {
			t.Errorf("%s is %v; want %v", name, got, tc.want)
		}
	}
}
