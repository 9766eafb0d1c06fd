package projections

import "linkledger/events"

// linkNotes are the tables of this projection that have notes.
var linkNotes = noteTables{
	erasing: []string{
		"UPDATE ?schema.links SET note = '" + events.Erased + "' WHERE account_id = $1 AND note <> ''",
		"UPDATE ?schema.link_texts SET " + eraseText,
	},
	forgetting: []string{
		"ANALYZE ?schema.links (note)",
		"INSERT INTO ?schema.link_texts (account_id, number, text) VALUES (" + nobody + ", -1, '')",
		"ANALYZE ?schema.link_texts",
		"DELETE FROM ?schema.link_texts WHERE account_id = " + nobody,
	},
}
