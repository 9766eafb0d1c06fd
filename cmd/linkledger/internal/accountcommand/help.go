package accountcommand

import (
	"linkledger/cmd/linkledger/internal/command"
	"linkledger/internal/config"
)

// HelpTexts are the help texts that are too long for the tag of their field. A tag names its text
// as ${NAME}.
var HelpTexts = config.HelpTexts{
	"erase_command": "Close an account for ever and erase its notes, and the members who have no " +
		"other account.",
	"expires": "Last day of the account, YYYY-MM-DD, in UTC. Empty: it never expires.",
	"scopes": "What the key may do: links:read, links:create, links:write, stats:read, " +
		"stats:reset, tags:write, history:read, keys, keys:read, members, members:read, " +
		"webhooks or webhooks:read. By default everything.",
	"tags": "Tag expression of the links that the key sees, creates and changes, such as +news. " +
		"By default all links.",
	"networks": "Networks that the key may be used from, such as 192.0.2.0/24. By default all.",
	"session_key": "Id of the account's API key that the session is for. By default the " +
		"account's oldest key that may do everything.",
	"session_operator": "Sign in as an operator of the installation.",
	"session_list":     "List the sessions of operators, and the sessions without an account.",
	"link_base":        command.LinkBase,
}
