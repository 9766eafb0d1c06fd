// Package command has the common parts of the commands of operators: their process, and the flags
// of their installation.
package command

import (
	"linkledger/internal/console"
	"linkledger/internal/installation"
)

// Process is what a command gets from its process.
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

// LinkBase is the help text of the flag that names where the links of the output lead.
const LinkBase = "Scheme and host of the service, as serve --base-url has it. By default that " +
	"of the dev that runs on --data."
