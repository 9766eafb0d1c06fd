// Package commandtest runs commands of operators in a test, on an installation of its own.
package commandtest

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"linkledger/cmd/linkledger/internal/command"
	"linkledger/internal/config"
	"linkledger/internal/console"
	"linkledger/internal/installation/installationtest"
	"linkledger/internal/usage"
)

// Commands runs the commands of a root struct for kong.
type Commands struct {
	t     testing.TB
	root  func() any
	texts config.HelpTexts
	flags []string
}

// New returns commands for a test. root returns a pointer to a new root struct with tags for kong,
// and texts are the help texts that the tags name. If on is nil, the commands have no installation.
func New(t testing.TB, root func() any, texts config.HelpTexts, on *installationtest.Installation) *Commands {
	t.Helper()
	c := &Commands{t: t, root: root, texts: texts}
	if on != nil {
		c.flags = []string{
			"--eventstore", string(on.Backends.Eventstore), "--database", string(on.Backends.Database),
			"--master-key", string(on.Backends.MasterKey),
		}
	}
	return c
}

// Run runs a command with the arguments in args, which are separated by blanks, and then more. It
// returns what the command prints.
func (c *Commands) Run(args string, more ...string) (output string, err error) {
	c.t.Helper()
	var out bytes.Buffer
	parser, err := kong.New(c.root(), config.Placeholders, c.texts.Option())
	if err != nil {
		c.t.Fatal(err)
	}
	call, err := parser.Parse(append(append(strings.Fields(args), more...), c.flags...))
	if err != nil {
		return "", err
	}
	call.BindTo(installationtest.WithTimeout(c.t), (*context.Context)(nil))
	err = call.Run(&command.Process{Console: console.New(&out, &out), Version: "test"})
	return out.String(), err
}

// Prints runs a command, and checks that it prints all parts.
func (c *Commands) Prints(args string, parts ...string) string {
	c.t.Helper()
	out, err := c.Run(args)
	if err != nil {
		c.t.Fatalf("%s: %v", args, err)
	}
	for _, part := range parts {
		if !strings.Contains(out, part) {
			c.t.Errorf("%s does not print %q\n%s", args, part, out)
		}
	}
	return out
}

// Refuses runs a command, and checks that it fails with a usage error that contains text.
func (c *Commands) Refuses(args, text string) {
	c.t.Helper()
	if _, err := c.Run(args); err == nil || !usage.Is(err) || !strings.Contains(err.Error(), text) {
		c.t.Errorf("%s: got %v, want an error of usage with %q", args, err, text)
	}
}
