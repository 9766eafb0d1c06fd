package main

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"

	"linkledger/cmd/linkledger/internal/command"
	"linkledger/internal/config"
	"linkledger/internal/console"
	"linkledger/internal/operators"
	"linkledger/internal/secret"
	"linkledger/internal/usage"
)

// configCommand prints the flags of another command and reports what is wrong with them. It
// connects to nothing and opens no data.
type configCommand struct {
	Command []string `arg:"" optional:"" help:"${checked_command}"`
}

// Run prints the flags of the command, and fails if one is not valid.
func (c *configCommand) Run(p *command.Process) error {
	args := c.Command
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		args = append([]string{"serve"}, args...)
	}
	parser, err := newParser(new(commandLine), p)
	if err != nil {
		return err
	}
	call, err := parser.Parse(args)
	if err != nil {
		return usage.Errorf("%s", secret.Redact(err.Error()))
	}
	var rows []console.Row
	for _, s := range settings(call) {
		rows = append(rows, console.Row{s.Flag, s.Environment, s.Value, s.From})
	}
	if err := console.Table(
		p.Stdout, console.Row{"flag", "environment", "value", "from"}, rows,
	); err != nil {
		return err
	}
	return check(call.Selected().Target.Addr().Interface())
}

// check validates the flags of a command: by the method check of the command if it has one, and
// otherwise by the rules in the tags of its fields.
func check(command any) error {
	if strict, ok := command.(interface{ check() error }); ok {
		return strict.check()
	}
	return config.Validate(command)
}

// settings returns the flags of a call, without secrets.
func settings(call *kong.Context) []operators.Setting {
	given := make(map[*kong.Flag]string)
	for _, step := range call.Path {
		if step.Flag == nil {
			continue
		}
		given[step.Flag] = "flag"
		if step.Resolved {
			given[step.Flag] = "environment"
		}
	}
	var all []operators.Setting
	for _, flag := range call.Flags() {
		if flag.Name == "help" || flag.Name == "version" {
			continue
		}
		from, ok := given[flag]
		if !ok {
			from = "default"
		}
		all = append(all, operators.Setting{
			Flag: "--" + flag.Name, Environment: usage.Env(flag.Name),
			Value: shown(flag.Target), From: from,
		})
	}
	return all
}

// shown returns a value in the form that the command line takes, without secrets.
func shown(value reflect.Value) string {
	if list, ok := value.Interface().(config.Origins); ok && list.Valid() {
		return string(list)
	}
	text := fmt.Sprint(value.Interface())
	if value.Kind() == reflect.Slice {
		text = strings.Join(strings.Fields(strings.Trim(text, "[]")), ",")
	}
	return secret.Redact(text) // a connection string may be given for any flag by mistake
}
