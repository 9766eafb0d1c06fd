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

This page lists all commands and flags of ` + "`linkledger`" + `. ` + "`make docs`" +
	` writes the page from the program, and a test fails
if the page is not current. [Operating](operating.md) explains what the flags are for.

A flag can be given in three ways. If it is given in several ways, the first one in this list counts:

1. On the command line: ` + "`--admin-listen 127.0.0.1:9000`" + `.
2. In an environment variable: ` + "`LINKLEDGER_ADMIN_LISTEN=127.0.0.1:9000`" + `. The name of the variable is ` +
	"`LINKLEDGER_`" + ` and
   the name of the flag in capitals, with ` + "`_`" + ` for ` + "`-`" + `. A flag that takes no value is set by ` +
	"`true`" + ` or ` + "`1`" + `.
3. In a file that an environment variable names: ` +
	"`LINKLEDGER_ADMIN_LISTEN_FILE=/run/secrets/admin_listen`" + `. The name of
   the variable ends with ` + "`_FILE`" +
	`. Give secrets in this way, because all users of a machine see the flags of its
   processes.

**Checking a configuration.** ` + "`linkledger config serve`" + ` prints each flag of ` + "`serve`" +
	` with its value, and where the value
comes from. It hides secrets and reports mistakes. For another command, write that command and its flags in place of
` + "`serve`" + `.

**Mistakes.** If a configuration is wrong, the program ends with exit code 2 and one line that says what to change. If
the program fails while it runs, it ends with exit code 1. It is also a mistake if the environment has a variable that
begins with ` + "`LINKLEDGER_`" +
	` and belongs to no command. The line then names the variable that may be meant. Kubernetes and
Docker set variables such as ` + "`LINKLEDGER_PORT`" + ` for a service that is called ` + "`linkledger`" +
	`. The program ignores these.

**Plans.** ` + "`--plans`" + ` sets the limits of each plan. A plan has up to three limits:

| limit | how many |
| --- | --- |
| ` + "`urls`" + ` | links an account may have at a time |
| ` + "`month-urls`" + ` | links an account may create in a calendar month, in UTC |
| ` + "`day-calls`" + ` | API calls an account may make in a day, in UTC |

This value sets the limits of two plans: ` +
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
