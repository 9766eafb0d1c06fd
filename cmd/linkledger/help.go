package main

import "linkledger/internal/config"

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

	// accountCommand.
	"erase_command": "Close an account for ever and erase its notes, and the members who have no " +
		"other account.",

	// accountEdit.
	"expires": "Last day of the account, YYYY-MM-DD, in UTC. Empty: it never expires.",

	// accountKeyAdd.
	"scopes": "What the key may do: links:read, links:create, links:write, stats:read, " +
		"stats:reset, tags:write, history:read, keys, keys:read, members or members:read. By " +
		"default everything.",
	"tags": "Tag expression of the links that the key sees, creates and changes, such as +news. " +
		"By default all links.",
	"networks": "Networks that the key may be used from, such as 192.0.2.0/24. By default all.",

	// auditCommand.
	"prove_command": "Print a proof of each event of a link, and a proof that the log continues " +
		"older heads.",
	"verify_proof_command": "Verify a file of proofs with the public key. No installation is " +
		"needed.",
	"verify_command": "Read the whole log and report the first event that differs from the tree " +
		"and the signed heads.",
	"import_check_command": "Check an exported file against its manifest. No installation is " +
		"needed.",

	// auditHistory, auditAt, auditRestore and auditExport.
	"account": "User name or id of an account. Only its links are shown.",
	"clicks": "Show each click instead of one count a day. This reads the log from the first " +
		"claim of the hash on.",
	"by":      "Print only what a key or a person did: the id or name of one.",
	"at_time": "Time in RFC 3339, or a day, which means its beginning in UTC.",
	"revision": "Revision of an event in the link's stream, as audit history shows it. The link " +
		"becomes as it was right after that event. By default a deleted link is restored.",
	"export_account": "User name or id of an account. Only its links, hashes, tags and settings " +
		"are exported, without clicks.",
	"export_from": "Export events that were recorded at this time or later: RFC 3339, or a day " +
		"in UTC.",
	"export_resume": "File of an interrupted export to continue. The file itself says what it " +
		"exports.",

	// auditKey, auditProve, auditVerify and the flags they share.
	"key_name": "Name of the key, which appears in heads, such as the host of the short links.",
	"signing_key": "Private key that signs heads, from audit key. Give it as a file, by " +
		"LINKLEDGER_SIGNING_KEY_FILE.",
	"proven_hash": "Hash of a link. The events of all links that ever used it are proved, " +
		"without clicks.",
	"checkpoint": "File of signed heads. The proofs rest on the last one. By default a new head " +
		"is signed.",
	"since":       "Files of older heads. The proofs show that the log continues them.",
	"checkpoints": "Files of signed heads that were kept elsewhere, with one or more heads each.",

	// consoleLink.
	"session_key": "Id of the API key of the account that the session is for. By default the " +
		"oldest that may do everything.",
	"session_operator": "Sign in as an operator of the installation.",
	"session_list":     "List the sessions of operators, and the sessions without an account.",
	"link_base": "Scheme and host of the service, as serve --base-url has it. By default that " +
		"of the dev that runs on --data.",

	// eventstoreCommand.
	"copy_command": "Copy the log into another event store, such as an EventStoreDB cluster. A " +
		"repeated call continues.",
	"prepare_command": "Grant a user of EventStoreDB the rights that the service needs, and " +
		"print what changed.",

	// eventstoreServe.
	"health": "Address of /health/live. By default none.",
	"tls_certificate": "Certificate chain in PEM. With it clients must use TLS. It is read again " +
		"when it changes.",
	"password": "Password of that user. Give it in the environment or as a file.",
	"insecure": "Allow other machines to connect without a password. All who reach the address " +
		"can read and write all events.",

	// eventstoreCopy and eventstorePrepare.
	"copy_from": "Event store to read from.",
	"copy_check": "Compare the two logs and copy nothing. It fails if the copy ends before the " +
		"source does.",
	"service_user": "EventStoreDB user as whom the service connects.",
	"copy_to":      "Event store to copy into. It is empty or has the events of an earlier copy.",
	"admin": "Connection string with the name and password of an administrator, such as " +
		"esdb://admin:PASSWORD@HOST:2113.",

	// backupCommand and restoreCommand.
	"backup_command": "Back up an installation on the embedded event store while it runs: the " +
		"log, the keys, and what says where they belong.",
	"backup_folder": "Folder of the backups. It is made if it is missing, but none above it.",
	"backup_events": "Folder of the embedded event store, which is on this machine. By default " +
		"that of the dev that runs on --data.",
	"serve_backup_events": "Folder of the embedded event store, on this machine, for --backup.",
	"restore_command": "Restore a backup to a new data folder of dev, or to a new folder of the " +
		"event store and an empty database.",
	"restore_folder": "Folder of backups, of which the newest is restored, or one of them.",
	"restore_events": "New folder of the embedded event store, for serve. By default the new " +
		"data folder of dev is --data.",

	// eventstoreBackup.
	"backup_to": "Folder of the copy, on which a store can run. An earlier backup of the same " +
		"log there is replaced, and only what is new is read.",

	// storeFolder.
	"store_folder": "Data folder of the event store. With linkledger dev it is the folder events " +
		"in --data.",

	// projectionsCommand and projectionsRebuild.
	"status_command": "Show how far each projection is, and which process owns it.",
	"resume_command": "End a pause, or let a stopped projection try again at once.",
	"verify_tables_command": "Replay the log and compare the result with the tables that serve, " +
		"row by row.",
	"rebuild_command": "Build the next generation beside the one that serves, and switch readers " +
		"to it.",
	"judging_agents": "Judge all recorded clicks anew, by the words of the program with the " +
		"changes of this file, as with --agents of serve. Builds links and dimensions, or --all. " +
		"Not from the environment.",
	"built_in_agents": "Judge all recorded clicks anew, by the words of the program alone. Not " +
		"from the environment.",
	"connections": "Largest number of PostgreSQL connections that all builds hold together, 8 to " +
		"100.",
}
