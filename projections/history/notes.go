package history

import (
	"linkledger/events"
	"linkledger/projections/notes"
)

// historyNotes has the statements that remove notes from the tables of this projection.
var historyNotes = notes.Tables{
	Erase: []string{
		"UPDATE ?schema.link_versions SET note = '" + events.Erased +
			"' WHERE account_id = $1 AND note <> ''",
		"UPDATE ?schema.link_faces SET " + notes.EraseText,
		"UPDATE ?schema.former_faces SET " + notes.EraseText,
	},
	Reanalyze: []string{
		"ANALYZE ?schema.link_versions (note)",
		"INSERT INTO ?schema.link_faces " + placeholderRow,
		"ANALYZE ?schema.link_faces",
		"DELETE FROM ?schema.link_faces WHERE link_id = " + notes.NilID,
		"INSERT INTO ?schema.former_faces " + placeholderRow,
		"ANALYZE ?schema.former_faces",
		"DELETE FROM ?schema.former_faces WHERE link_id = " + notes.NilID,
	},
}

// placeholderRow is the row with which tables of search texts are analyzed; see notes.Tables.
const placeholderRow = "(account_id, since, until, number, text, hash, link_id) VALUES (" +
	notes.NilID + ", 0, 0, -1, '', '', " + notes.NilID + ")"
