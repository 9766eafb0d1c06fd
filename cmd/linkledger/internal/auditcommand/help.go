package auditcommand

import (
	"linkledger/cmd/linkledger/internal/command"
	"linkledger/internal/config"
)

// HelpTexts are the help texts that are too long for the tag of their field. A tag names its text
// as ${NAME}.
var HelpTexts = config.HelpTexts{
	"prove_command": "Print a proof of each event of a link, and a proof that the log continues " +
		"older heads.",
	"verify_proof_command": "Verify a file of proofs with the public key. No installation is " +
		"needed.",
	"verify_command": "Read the whole log and report the first event that differs from the tree " +
		"and the signed heads.",
	"import_check_command": "Check an exported file against its manifest. No installation is " +
		"needed.",
	"account": "User name or id of an account. Only its links are shown.",
	"clicks": "Show each click instead of one count a day. This reads the log from the first " +
		"claim of the hash on.",
	"by":      "Id or name of a key or a person. Only what that key or person did is printed.",
	"at_time": "Time in RFC 3339, or a day, which means its beginning in UTC.",
	"revision": "Revision of an event in the link's stream, as audit history shows it. The link " +
		"becomes as it was right after that event. By default a deleted link is restored.",
	"export_account": "User name or id of an account. Only its links, hashes, tags and settings " +
		"are exported, without clicks.",
	"export_from": "Export events that were recorded at this time or later: RFC 3339, or a day " +
		"in UTC.",
	"export_resume": "File of an interrupted export to continue. The file itself says what it " +
		"exports.",
	"key_name": "Name of the key, which appears in heads, such as the host of the short links.",
	"signing_key": "Private key that signs heads, made by: audit key. Give it as a file, by " +
		"LINKLEDGER_SIGNING_KEY_FILE.",
	"proven_hash": "Hash of a link. The events of all links that ever used it are proved, " +
		"without clicks.",
	"checkpoint": "File of signed heads. The proofs rest on the last one. By default a new head " +
		"is signed.",
	"since":       "Files of older heads. The proofs show that the log continues them.",
	"checkpoints": "Files of signed heads that were kept elsewhere, with one or more heads each.",
	"link_base":   command.LinkBase,
}
