package history

import (
	"linkledger/events"
	"linkledger/projections/notes"
)

// historyNotes are the tables of this projection that have notes.
var historyNotes = notes.Tables{
	Erasing: []string{
		"UPDATE ?schema.link_versions SET note = '" + events.Erased +
			"' WHERE account_id = $1 AND note <> ''",
		"UPDATE ?schema.link_faces SET " + notes.EraseText,
		"UPDATE ?schema.former_faces SET " + notes.EraseText,
	},
	Forgetting: []string{
		"ANALYZE ?schema.link_versions (note)",
		"INSERT INTO ?schema.link_faces " + faceOfNobody,
		"ANALYZE ?schema.link_faces",
		"DELETE FROM ?schema.link_faces WHERE link_id = " + notes.Nobody,
		"INSERT INTO ?schema.former_faces " + faceOfNobody,
		"ANALYZE ?schema.former_faces",
		"DELETE FROM ?schema.former_faces WHERE link_id = " + notes.Nobody,
	},
}

const faceOfNobody = "(account_id, since, until, number, text, hash, link_id) VALUES (" +
	notes.Nobody + ", 0, 0, -1, '', '', " + notes.Nobody + ")"
