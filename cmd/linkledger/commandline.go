package main

import (
	"log/slog"

	"github.com/alecthomas/kong"

	"linkledger/internal/installation"
)

// commandLine is the root of the commands and flags.
type commandLine struct {
	LogLevel  slog.Level       `help:"Log level: debug, info, warn or error." default:"info"`
	LogFormat string           `help:"${log_format}" default:"text" enum:"text,json"`
	Version   kong.VersionFlag `help:"Print the version and exit."`

	Dev        devCommand        `cmd:"" help:"${dev_command}"`
	Serve      serveCommand      `cmd:"" help:"Run the service on an event store and PostgreSQL."`
	Eventstore eventstoreCommand `cmd:"" help:"Run the embedded event store alone."`
	Account    accountCommand    `cmd:"" help:"Open and manage accounts."`
	Person     personCommand     `cmd:"" help:"List and erase the persons who sign in."`
	Console    consoleCommand    `cmd:"" help:"Make links to sign in, and end sessions."`

	Backup  backupCommand  `cmd:"" help:"${backup_command}"`
	Restore restoreCommand `cmd:"" help:"${restore_command}"`

	Projections projectionsCommand `cmd:"" help:"Show and operate the projections."`
	Audit       auditCommand       `cmd:"" help:"Show what happened, when, and who caused it."`
	Config      configCommand      `cmd:"" passthrough:"" help:"${config_command}"`
	Health      healthCommand      `cmd:"" help:"Ask a service on this machine if it is ready."`
}

// operatorFlags are the flags of an operator command: its installation and the form of its output.
type operatorFlags struct {
	installation.Installation
	JSON bool `name:"json" help:"Print JSON."`
}

// by returns the operator that the flags describe.
func (f *operatorFlags) by(p *process) installation.Operator {
	o := operator(&f.Installation, p)
	o.JSON = f.JSON
	return o
}

// operator returns an operator for a command that has one form of output.
func operator(i *installation.Installation, p *process) installation.Operator {
	i.Program = version
	return installation.Operator{Installation: i, Console: p.Console}
}
