package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"linkledger/cmd/linkledger/internal/command"
)

var update = flag.Bool("update", false, "write docs/configuration.md instead of comparing it")

const configurationPage = "../../docs/configuration.md"

// configurationIntro is the part of the page that is not generated from the flags.
const configurationIntro = `# Configuration

This page lists all commands and flags. ` + "`make docs`" + ` generates it from the program; a test fails if it is not
current. [Operating](operating.md) explains what the flags are for.

A flag is given in one of three ways. The first one that is given counts.

1. On the command line: ` + "`--admin-listen 127.0.0.1:9000`" + `.
2. In the environment: ` + "`LINKLEDGER_ADMIN_LISTEN=127.0.0.1:9000`" + `. The name is ` + "`LINKLEDGER_`" +
	` and the flag's name in
   capitals. ` + "`true`" + ` or ` + "`1`" + ` sets a flag without a value.
3. In a file that the environment names: ` + "`LINKLEDGER_ADMIN_LISTEN_FILE=/run/secrets/admin_listen`" +
	`. Give secrets in
   this way: all users of a machine see the flags of its processes.

` + "`linkledger config serve`" + `, or ` + "`config`" +
	` with another command and its flags, prints each flag with its value and its
origin, hides secrets, and reports mistakes. A variable that begins with ` + "`LINKLEDGER_`" + ` and belongs to no command ends
each command with the name that may be meant. Variables that Kubernetes and Docker set for a service of that name, such
as ` + "`LINKLEDGER_PORT`" + `, are left alone. A wrong configuration ends the program with exit code 2 and one line that
says what to change. A failure while the program runs ends it with exit code 1.

A plan in ` + "`--plans`" + ` has up to three limits: ` + "`urls`" + ` (links at a time), ` + "`month-urls`" +
	` (links created in a calendar month)
and ` + "`day-calls`" + ` (API calls in a day), both in UTC: ` +
	"`free:urls=100,month-urls=50,day-calls=1000;pro:day-calls=100000`" + `.
`

// TestConfigurationPage checks that the page describes the flags of this program.
func TestConfigurationPage(t *testing.T) {
	t.Parallel()
	page, err := configurationMarkdown()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(configurationPage, page, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	written, err := os.ReadFile(configurationPage)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(written, page) {
		t.Error("docs/configuration.md is not current; run make docs")
	}
}

func configurationMarkdown() ([]byte, error) {
	parser, err := newParser(new(commandLine), &command.Process{Getenv: func(string) string { return "" }})
	if err != nil {
		return nil, err
	}
	var page bytes.Buffer
	page.WriteString(configurationIntro)
	leaves := parser.Model.Leaves(true)
	services, stores, tools := new(flagTable), new(flagTable), new(flagTable)
	for _, leaf := range leaves {
		table := tools
		switch path := commandPath(leaf); path {
		case "dev", "serve":
			table = services
		case "eventstore serve":
			table = stores
		}
		for _, flags := range leaf.AllFlags(true) {
			table.add(leaf, flags)
		}
	}
	global := new(flagTable)
	global.add(parser.Model.Node, parser.Model.Flags)
	page.WriteString("\n## Flags of every command\n\n")
	global.write(&page, nil)
	page.WriteString("\n## Flags of `dev` and `serve`\n\n")
	services.without(global).write(&page, nil)
	page.WriteString(
		"\n## Flags of `eventstore serve`\n\n`linkledger eventstore` is short for `linkledger eventstore serve`.\n\n",
	)
	stores.without(global).write(&page, nil)
	page.WriteString("\n## Flags of the other commands\n\n")
	tools.without(global).write(&page, leaves)
	page.WriteString("\n## Commands\n\n| command | does |\n| --- | --- |\n")
	for _, leaf := range leaves {
		fmt.Fprintf(
			&page, "| `%s` | %s |\n", strings.Join(append([]string{commandPath(leaf)}, arguments(leaf)...), " "),
			leaf.Help,
		)
	}
	return page.Bytes(), nil
}

// commandPath returns the command as a user types it, without the program's name.
func commandPath(leaf *kong.Node) string {
	var names []string
	for node := leaf; node.Parent != nil; node = node.Parent {
		names = append(names, node.Name)
	}
	slices.Reverse(names)
	return strings.Join(names, " ")
}

func arguments(leaf *kong.Node) []string {
	var names []string
	for _, argument := range leaf.Positional {
		name := strings.ToUpper(argument.Name)
		if !argument.Required {
			name = "[" + name + "]"
		}
		names = append(names, name)
	}
	return names
}

// flagRow is the row of a flag in the page.
type flagRow struct{ name, value, help string }

// flagTable is a table of flags. A flag that is identical in several commands has one row.
type flagTable struct {
	rows     []flagRow
	commands map[flagRow][]string
}

func (f *flagTable) add(command *kong.Node, flags []*kong.Flag) {
	if f.commands == nil {
		f.commands = make(map[flagRow][]string)
	}
	for _, flag := range flags {
		if flag.Name == "help" || flag.Name == "version" {
			continue
		}
		row := flagRow{name: strings.TrimSpace("--" + flag.Name + " " + flag.PlaceHolder), help: flag.Help}
		if flag.HasDefault {
			row.value = "`" + flag.Default + "`"
		}
		if f.commands[row] == nil {
			f.rows = append(f.rows, row)
		}
		f.commands[row] = append(f.commands[row], commandPath(command))
	}
}

// without returns the table without the rows of another table.
func (f *flagTable) without(other *flagTable) *flagTable {
	rest := &flagTable{commands: f.commands}
	for _, row := range f.rows {
		if !slices.Contains(other.rows, row) {
			rest.rows = append(rest.rows, row)
		}
	}
	return rest
}

// write writes the table. all are the commands of the program. If each command of a group has a
// flag, the row names the group.
func (f *flagTable) write(page *bytes.Buffer, all []*kong.Node) {
	page.WriteString("| flag | command | default | meaning |\n| --- | --- | --- | --- |\n")
	for _, row := range f.rows {
		fmt.Fprintf(
			page, "| `%s` | %s | %s | %s |\n", row.name, strings.Join(grouped(f.commands[row], all), ", "), row.value,
			row.help,
		)
	}
}

func grouped(commands []string, all []*kong.Node) []string {
	members := make(map[string]int)
	for _, leaf := range all {
		group, _, _ := strings.Cut(commandPath(leaf), " ")
		members[group]++
	}
	having := make(map[string]int)
	for _, command := range commands {
		group, _, _ := strings.Cut(command, " ")
		having[group]++
	}
	var names []string
	for _, command := range commands {
		name, _, _ := strings.Cut(command, " ")
		if having[name] < 2 || having[name] != members[name] {
			name = command
		}
		if name == "" {
			name = "all"
		} else {
			name = "`" + name + "`"
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
