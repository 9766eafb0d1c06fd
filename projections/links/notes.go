package links

import (
	"linkledger/events"
	"linkledger/projections/notes"
)

// linkNotes has the statements that remove notes from the tables of this projection.
var linkNotes = notes.Tables{
	Erase: []string{
		"UPDATE ?schema.links SET note = '" + events.Erased +
			"' WHERE account_id = $1 AND note <> ''",
		"UPDATE ?schema.link_texts SET " + notes.EraseText,
	},
	Reanalyze: []string{
		"ANALYZE ?schema.links (note)",
		"INSERT INTO ?schema.link_texts (account_id, number, text) " +
			"VALUES (" + notes.NilID + ", -1, '')",
		"ANALYZE ?schema.link_texts",
		"DELETE FROM ?schema.link_texts WHERE account_id = " + notes.NilID,
	},
}
