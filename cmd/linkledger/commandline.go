package main

import (
	"log/slog"

	"github.com/alecthomas/kong"

	"linkledger/internal/installation"
)

// commandLine is everything that can be given to the program.
type commandLine struct {
	LogLevel  slog.Level       `help:"Lowest level that is logged: debug, info, warn or error." default:"info"`
	LogFormat string           `help:"Format of the log: text for people, json for programs." default:"text" enum:"text,json"`
	Version   kong.VersionFlag `help:"Print the version and exit."`

	Dev        devCommand        `cmd:"" help:"Run everything in one process: event store, private PostgreSQL, API, redirects and projections."`
	Serve      serveCommand      `cmd:"" help:"Run the service against an event store and a PostgreSQL."`
	Eventstore eventstoreCommand `cmd:"" help:"Run the embedded event store alone."`
	Account    accountCommand    `cmd:"" help:"Open and manage accounts."`

	Projections projectionsCommand `cmd:"" help:"Show and operate the projections."`
	Audit       auditCommand       `cmd:"" help:"Show what happened, when, and who caused it."`
	Config      configCommand      `cmd:"" passthrough:"" help:"Print the configuration of a command, without its secrets, and check it."`
	Health      healthCommand      `cmd:"" help:"Ask a service on this machine whether it is ready."`
}

// operatorFlags is the installation that an operator command is for, and how it answers.
type operatorFlags struct {
	installation.Installation
	JSON bool `name:"json" help:"Print JSON."`
}

// by returns the call of an operator.
func (t *operatorFlags) by(p *process) installation.Operator {
	o := operator(&t.Installation, p)
	o.JSON = t.JSON
	return o
}

// operator returns the call of an operator that is answered in one form alone.
func operator(i *installation.Installation, p *process) installation.Operator {
	return installation.Operator{Installation: i, Console: p.Console}
}
