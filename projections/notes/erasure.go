package notes

import (
	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
)

// IsErasure reports whether an event is an erasure.
func IsErasure(r eventstore.Recorded) bool { return r.Type == erasure }

var erasure = events.AccountErased{}.EventType()

// Tables are the tables of a projection that have notes.
type Tables struct {
	// Erasing are the statements that erase notes of the account $1. The texts of a search have the
	// note between line breaks.
	Erasing []string
	// Forgetting are the statements after these by which the planner forgets the notes. Its
	// statistics have values of some rows, until a table is analyzed again. A table without rows
	// would keep those from before: those that rows are deleted from are analyzed with one that
	// nobody else sees.
	Forgetting []string
}

// Nobody is the id of an account and of a link that there never is, in SQL.
const Nobody = "'00000000-0000-0000-0000-000000000000'"

// EraseText ends a statement that erases the notes in a table of texts.
const EraseText = `text = convert_to(regexp_replace(linkledger.utf8(text), E'\n.+\n', E'\n` +
	events.Erased + `\n'), 'UTF8')
	WHERE account_id = $1 AND linkledger.utf8(text) ~ E'\n.+\n'`

// erase queues what erases the notes of an account, which may take as long as it takes.
func (t Tables) erase(s *sqlbatch.Batch, account uuid.UUID) {
	s.Queue("SET LOCAL statement_timeout = 0")
	for _, statement := range t.Erasing {
		s.Queue(statement, sqlbatch.UUID(account))
	}
	for _, statement := range t.Forgetting {
		s.Queue(statement)
	}
	s.Queue(readmodel.EraseKeyStatement, sqlbatch.UUID(account))
}
