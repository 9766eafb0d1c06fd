package projections

import "linkledger/events"

// historyNotes are the tables of this projection that have notes.
var historyNotes = noteTables{
	erasing: []string{
		"UPDATE ?schema.link_versions SET note = '" + events.Erased + "' WHERE account_id = $1 AND note <> ''",
		"UPDATE ?schema.link_faces SET " + eraseText,
		"UPDATE ?schema.former_faces SET " + eraseText,
	},
	forgetting: []string{
		"ANALYZE ?schema.link_versions (note)",
		"INSERT INTO ?schema.link_faces " + faceOfNobody,
		"ANALYZE ?schema.link_faces",
		"DELETE FROM ?schema.link_faces WHERE link_id = " + nobody,
		"INSERT INTO ?schema.former_faces " + faceOfNobody,
		"ANALYZE ?schema.former_faces",
		"DELETE FROM ?schema.former_faces WHERE link_id = " + nobody,
	},
}

const faceOfNobody = "(account_id, since, until, number, text, hash, link_id) VALUES (" + nobody + ", 0, 0, -1, '', '', " + nobody + ")"
