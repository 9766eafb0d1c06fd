package installationtest

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"linkledger/internal/console"
	"linkledger/internal/installation"
	"linkledger/internal/usage"
)

// Command is an operator command.
type Command = func(context.Context, installation.Operator) error

// Printed is the result of a command.
type Printed struct {
	Out, Log string
	Err      error

	t testing.TB
}

// Run runs a command on the installation.
func (i *Installation) Run(command Command) Printed {
	i.t.Helper()
	return i.run(command, installation.Operator{})
}

// JSON runs a command that prints JSON, and decodes its output. It returns the error of the
// command.
func (i *Installation) JSON(into any, command Command) error {
	i.t.Helper()
	p := i.run(command, installation.Operator{JSON: true})
	if err := json.Unmarshal([]byte(p.Out), into); err != nil {
		i.t.Fatalf("%v in %q, %v", err, p.Out, p.Err)
	}
	return p.Err
}

func (i *Installation) run(command Command, o installation.Operator) Printed {
	i.t.Helper()
	backends := i.Backends
	var out, log strings.Builder
	o.Installation, o.Console = &backends, console.New(&out, &log)
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	err := command(WithTimeout(i.t), o)
	return Printed{out.String(), log.String(), err, i.t}
}

// Of returns the result of a command that runs without an installation.
func Of(t testing.TB, command func(console.Console) error) Printed {
	t.Helper()
	var out, log strings.Builder
	c := console.New(&out, &log)
	c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	err := command(c)
	return Printed{out.String(), log.String(), err, t}
}

// Has checks that the command has succeeded and printed the texts.
func (p Printed) Has(texts ...string) string {
	p.t.Helper()
	if p.Err != nil {
		p.t.Errorf("the command fails: %v", p.Err)
	}
	p.Prints(texts...)
	return p.Out
}

// Prints checks that the command has printed the texts, whether it has succeeded or not.
func (p Printed) Prints(texts ...string) {
	p.t.Helper()
	for _, text := range texts {
		if !strings.Contains(p.Out, text) {
			p.t.Errorf("the command does not print %q:\n%s%s", text, p.Out, p.Log)
		}
	}
}

// Refused checks that the command fails for a reason that its user can correct.
func (p Printed) Refused(texts ...string) {
	p.t.Helper()
	p.fails(true, texts)
}

// Fails checks that the command fails for a reason that its user cannot correct.
func (p Printed) Fails(texts ...string) {
	p.t.Helper()
	p.fails(false, texts)
}

func (p Printed) fails(byUser bool, texts []string) {
	p.t.Helper()
	if p.Err == nil || usage.Is(p.Err) != byUser {
		p.t.Errorf("the command returns %v; an error of its user: %t\n%s", p.Err, byUser, p.Out)
		return
	}
	for _, text := range texts {
		if !strings.Contains(p.Err.Error(), text) {
			p.t.Errorf("the command returns %q; want %q in it", p.Err, text)
		}
	}
}
