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
		"UPDATE ?schema.text_versions SET " + notes.EraseText,
	},
	Reanalyze: []string{
		"ANALYZE ?schema.link_versions (note)", "ANALYZE ?schema.text_versions (text)",
	},
}
