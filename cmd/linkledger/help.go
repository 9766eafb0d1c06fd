package main

import (
	"maps"

	"linkledger/cmd/linkledger/internal/accountcommand"
	"linkledger/cmd/linkledger/internal/auditcommand"
	"linkledger/cmd/linkledger/internal/projectionscommand"
	"linkledger/internal/config"
)

// allHelpTexts returns the help texts of all commands.
func allHelpTexts() config.HelpTexts {
	all := maps.Clone(helpTexts)
	maps.Copy(all, accountcommand.HelpTexts)
	maps.Copy(all, auditcommand.HelpTexts)
	maps.Copy(all, projectionscommand.HelpTexts)
	return all
}

// helpTexts are the help texts that are too long for the tag of their field. A tag names its text
// as ${NAME}.
var helpTexts = config.HelpTexts{
	// commandLine.
	"log_format": "Log format: text for people, json for programs.",
	"dev_command": "Run everything in one process: event store, private PostgreSQL, API, " +
		"redirects and projections.",
	"config_command": "Print the configuration of a command without its secrets, and check it.",

	// configCommand.
	"checked_command": "Command with its flags, such as: eventstore serve --listen :2113. By " +
		"default serve.",

	// serveCommand and devCommand.
	"roles":        "Parts of the service that this process runs: api, redirect, projector.",
	"store_listen": "Address of the embedded event store.",
	"postgres_bin": "Folder of PostgreSQL's initdb and postgres. By default the usual places are " +
		"searched.",

	// eventstoreCommand.
	"copy_command": "Copy the log into another event store, such as an EventStoreDB cluster. A " +
		"repeated call continues the copy.",
	"prepare_command": "Grant a user of EventStoreDB the rights that the service needs, and " +
		"print what changed.",

	// eventstoreServe.
	"health": "Address of /health/live. By default none.",
	"tls_certificate": "Certificate chain in PEM. With it clients must use TLS. It is read again " +
		"when it changes.",
	"password": "Password of --user. Give it in the environment or as a file.",
	"insecure": "Allow other machines to connect without a password. All who reach the address " +
		"can read and write all events.",

	// eventstoreCopy and eventstorePrepare.
	"copy_from": "Event store to read from.",
	"copy_check": "Compare the two logs and copy nothing. It fails if the copy ends before the " +
		"source does.",
	"service_user": "EventStoreDB user that the service connects as.",
	"copy_to":      "Event store to copy into. It is empty or has the events of an earlier copy.",
	"admin": "Connection string with the name and password of an administrator, such as " +
		"esdb://admin:PASSWORD@HOST:2113.",

	// backupCommand and restoreCommand.
	"backup_command": "Back up an installation on the embedded event store while it runs: the " +
		"log, the keys, and a manifest that says to which log and version they belong.",
	"backup_folder": "Folder of the backups. It is made if it is missing. Its parent folder must " +
		"exist.",
	"backup_events": "Folder of the embedded event store, which is on this machine. By default " +
		"the one that dev uses on --data.",
	"serve_backup_events": "Folder of the embedded event store, on this machine, for --backup.",
	"restore_command": "Restore a backup to a new data folder of dev, or to a new folder of the " +
		"event store and an empty database.",
	"restore_folder": "A backup, or a folder of backups: its newest one is restored.",
	"restore_events": "New folder of the embedded event store, for an installation that serve " +
		"runs. By default the backup is restored for dev, to the new data folder --data.",

	// eventstoreBackup.
	"backup_to": "Folder of the copy. An event store can run on it. If the folder has an earlier " +
		"backup of the same log, the backup is replaced, and only what is new is read.",

	// storeFolder.
	"store_folder": "Data folder of the event store. With linkledger dev it is the folder events " +
		"in --data.",
}
