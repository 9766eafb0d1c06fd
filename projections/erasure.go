package projections

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/projections/readmodel"
)

// An erasure is applied alone, after all that precedes it and before anything that follows: what it changes are the notes
// in the tables. Whoever applies it also deletes the key. So no generation reads a note that comes after it, when and
// however often it is built, and a key that a restored backup brought back does not stay.

// isErasure reports whether an event is an erasure.
func isErasure(r eventstore.Recorded) bool { return r.Type == erasure }

var erasure = events.AccountErased{}.EventType()

// noteTables are the tables of a projection that have notes.
type noteTables struct {
	// erasing are the statements that erase notes of the account $1. The texts of a search have the note between line breaks.
	erasing []string
	// forgetting are the statements after these by which the planner forgets the notes. Its statistics have values of some
	// rows, until a table is analyzed again. A table without rows would keep those from before: those that rows are deleted
	// from are analyzed with one that nobody else sees.
	forgetting []string
}

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

// nobody is the id of an account and of a link that there never is, in SQL.
const nobody = "'00000000-0000-0000-0000-000000000000'"

// eraseText ends a statement that erases the notes in a table of texts.
const eraseText = `text = convert_to(regexp_replace(linkledger.utf8(text), E'\n.+\n', E'\n` + events.Erased + `\n'), 'UTF8')
	WHERE account_id = $1 AND linkledger.utf8(text) ~ E'\n.+\n'`

// erase queues what erases the notes of an account, which may take as long as it takes.
func (t noteTables) erase(s *statements, account uuid.UUID) {
	s.queue("SET LOCAL statement_timeout = 0")
	for _, statement := range t.erasing {
		s.queue(statement, toUUID(account))
	}
	for _, statement := range t.forgetting {
		s.queue(statement)
	}
	s.queue(readmodel.EraseKeyStatement, toUUID(account))
}

// AwaitErasure waits until each generation that may have notes, serving or not, has an erasure at a position of the log. It
// fails with ctx, and returns which have not.
func AwaitErasure(ctx context.Context, db *readmodel.DB, at eventstore.Position) (behind []string, err error) {
	names := []string{History, Links}
	for {
		behind = behind[:0]
		if err := db.NewRaw(`SELECT name || ' ' || generation FROM linkledger.generations
			WHERE name IN (?) AND (commit_pos, prepare_pos) < (?, ?) ORDER BY name, generation`,
			bun.List(names), signed(at.Commit), signed(at.Prepare)).Scan(ctx, &behind); err != nil {
			return behind, fmt.Errorf("look for an erasure: %w", err)
		}
		if len(behind) == 0 {
			return nil, nil
		}
		select {
		case <-ctx.Done():
			return behind, ctx.Err()
		case <-time.After(pollInterval):
		}
	}
}
