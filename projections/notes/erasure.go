package notes

import (
	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/projections/keystore"
	"linkledger/projections/sqlbatch"
)

// IsErasure reports whether an event is the erasure of an account.
func IsErasure(r eventstore.Recorded) bool { return r.Type == erasure }

var erasure = events.AccountErased{}.EventType()

// Tables has the statements that remove notes from the tables of a projection.
type Tables struct {
	// Erase lists the statements that erase the notes of account $1. A search text has the note
	// between line breaks.
	Erase []string
	// Reanalyze lists the statements that run after Erase and remove the notes from the planner's
	// statistics. The statistics keep values of some rows until a table is analyzed again. ANALYZE
	// keeps the old statistics of a table without rows. So a table from which rows are deleted is
	// analyzed with a placeholder row, which no other transaction sees.
	Reanalyze []string
}

// NilID is the SQL literal of an id that no account and no link has.
const NilID = "'00000000-0000-0000-0000-000000000000'"

// EraseText is the end of a statement that erases the notes in a table of search texts.
const EraseText = `text = convert_to(regexp_replace(linkledger.utf8(text), E'\n.+\n', E'\n` +
	events.Erased + `\n'), 'UTF8')
	WHERE account_id = $1 AND linkledger.utf8(text) ~ E'\n.+\n'`

// queueErasure queues the erasure of the notes of an account, without a timeout, because an account
// may have any number of links.
func (t Tables) queueErasure(s *sqlbatch.Batch, account uuid.UUID) {
	s.Queue("SET LOCAL statement_timeout = 0")
	for _, statement := range t.Erase {
		s.Queue(statement, sqlbatch.UUID(account))
	}
	for _, statement := range t.Reanalyze {
		s.Queue(statement)
	}
	s.Queue(keystore.EraseAccountKeyStatement, sqlbatch.UUID(account))
}
