package main

import (
	"log/slog"

	"github.com/alecthomas/kong"

	"linkledger/cmd/linkledger/internal/accountcommand"
	"linkledger/cmd/linkledger/internal/auditcommand"
	"linkledger/cmd/linkledger/internal/projectionscommand"
)

// commandLine is the root of the commands and flags.
type commandLine struct {
	LogLevel  slog.Level       `help:"Log level: debug, info, warn or error." default:"info"`
	LogFormat string           `help:"${log_format}" default:"text" enum:"text,json"`
	Version   kong.VersionFlag `help:"Print the version and exit."`

	Dev        devCommand        `cmd:"" help:"${dev_command}"`
	Serve      serveCommand      `cmd:"" help:"Run the service on an event store and PostgreSQL."`
	Eventstore eventstoreCommand `cmd:"" help:"Run the embedded event store alone."`

	Account accountcommand.Account `cmd:"" help:"Open and manage accounts."`
	Person  accountcommand.Person  `cmd:"" help:"List and erase the persons who sign in."`
	Console accountcommand.Console `cmd:"" help:"Make links to sign in, and end sessions."`

	Backup  backupCommand  `cmd:"" help:"${backup_command}"`
	Restore restoreCommand `cmd:"" help:"${restore_command}"`

	Projections projectionscommand.Projections `cmd:"" help:"Show and operate the projections."`

	Audit auditcommand.Audit `cmd:"" help:"Show what happened, when, and who caused it."`

	Config configCommand `cmd:"" passthrough:"" help:"${config_command}"`
	Health healthCommand `cmd:"" help:"Ask a service on this machine if it is ready."`
}
