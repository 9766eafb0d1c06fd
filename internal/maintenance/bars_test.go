package maintenance_test

import (
	"context"
	"io"
	"regexp"
	"testing"

	"github.com/creack/pty"

	"linkledger/internal/installation/installationtest"
	"linkledger/internal/maintenance"
)

// onTerminal runs a command on a terminal, and returns what the terminal gets.
func onTerminal(t *testing.T, i *installationtest.Installation, run installationtest.Command) string {
	t.Helper()
	shown, terminal, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer shown.Close()
	read := make(chan string)
	go func() {
		all, _ := io.ReadAll(shown) // it ends with an error once the terminal is closed
		read <- string(all)
	}()
	i.Run(func(ctx context.Context, o operator) error {
		o.Stdout = terminal
		return run(ctx, o)
	}).Has()
	if err := terminal.Close(); err != nil {
		t.Error(err)
	}
	return <-read
}

// TestBars checks what a terminal shows at the end of a command: of each projection its name, generation and speed, and
// how long it took. Positions in the log say nothing to an operator, so the bars have none.
func TestBars(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		run  installationtest.Command
		want string
	}{
		"verify": {
			ofAll(maintenance.Verify, "links"), `links generation 1, \d+ events/s \.\.\. done! \[[^ ]+\]\r\n`,
		},
		"rebuild": {rebuild("tags"), `tags generation 2, \d+ events/s \.\.\. done! \[[^ ]+\]\r\n`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := onTerminal(t, installationtest.New(t), tc.run)
			if !regexp.MustCompile(tc.want).MatchString(out) {
				t.Errorf("the terminal shows %q, want %q", out, tc.want)
			}
		})
	}
}
