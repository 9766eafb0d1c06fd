package projectionscommand

import "linkledger/internal/config"

// HelpTexts are the help texts that are too long for the tag of their field. A tag names its text
// as ${NAME}.
var HelpTexts = config.HelpTexts{
	"status_command": "Show how far each projection is, and which process owns it.",
	"resume_command": "End a pause, or let a stopped projection try again at once.",
	"verify_tables_command": "Replay the log and compare the result with the tables that serve, " +
		"row by row.",
	"rebuild_command": "Build the next generation beside the one that serves, and switch readers " +
		"to it.",
	"judging_agents": "Judge all recorded clicks again, by the words of the program with the " +
		"changes of this file, as with serve --agents. Without --all, links and dimensions are " +
		"built. This flag cannot be set in the environment.",
	"built_in_agents": "Judge all recorded clicks again, only by the words of the program. This " +
		"flag cannot be set in the environment.",
	"connections": "Largest number of PostgreSQL connections that all builds hold together, 8 to " +
		"100.",
}
