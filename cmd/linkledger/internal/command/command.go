// Package command has the common parts of the commands of operators: their process, and the flags
// of their installation.
package command

import (
	"linkledger/internal/console"
	"linkledger/internal/installation"
)

// Process gives a command the console, the environment and the version of the program.
type Process struct {
	console.Console

	Getenv  func(string) string // environment
	Version string              // of the program
}

// OperatorFlags are the flags of an operator command: its installation and the form of its output.
type OperatorFlags struct {
	installation.Installation
	JSON bool `name:"json" help:"Print JSON."`
}

// By returns the operator that the flags describe.
func (f *OperatorFlags) By(p *Process) installation.Operator {
	o := Operator(&f.Installation, p)
	o.JSON = f.JSON
	return o
}

// Operator returns an operator for a command that has one form of output.
func Operator(i *installation.Installation, p *Process) installation.Operator {
	i.Program = p.Version
	return installation.Operator{Installation: i, Console: p.Console}
}

// LinkBase is the help text of --base-url, which begins the short links in the output of a command.
const LinkBase = "Scheme and host of the service, as in serve --base-url. By default the scheme " +
	"and host of the dev that runs on --data."
