package links

import (
	"linkledger/events"
	"linkledger/projections/notes"
)

// linkNotes are the tables of this projection that have notes.
var linkNotes = notes.Tables{
	Erasing: []string{
		"UPDATE ?schema.links SET note = '" + events.Erased +
			"' WHERE account_id = $1 AND note <> ''",
		"UPDATE ?schema.link_texts SET " + notes.EraseText,
	},
	Forgetting: []string{
		"ANALYZE ?schema.links (note)",
		"INSERT INTO ?schema.link_texts (account_id, number, text) VALUES (" + notes.Nobody +
			", -1, '')",
		"ANALYZE ?schema.link_texts",
		"DELETE FROM ?schema.link_texts WHERE account_id = " + notes.Nobody,
	},
}
