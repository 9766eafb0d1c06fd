package queries

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"linkledger/projections/readmodel"
)

// ErrNotFound means that there is nothing like that, or nothing like that in this account.
var ErrNotFound = errors.New("not found")

// DB answers questions from the read models. It is safe for concurrent use.
type DB struct {
	db *readmodel.DB
}

// New returns a DB that reads a prepared database.
func New(db *readmodel.DB) *DB { return &DB{db: db} }

// failed wraps the error of a question. No row is ErrNotFound.
func failed(question string, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%s: %w", question, ErrNotFound)
	}
	return fmt.Errorf("%s: %w", question, err)
}

// Storable tells whether a text can be in a read model at all. PostgreSQL refuses the NUL character
// and what is not UTF-8, and a caller who sends that has asked for something that does not exist.
func Storable(text string) bool { return strings.IndexByte(text, 0) < 0 && utf8.ValidString(text) }

// dayIsOver tells whether a day, YYYY-MM-DD, is over, UTC. The empty one never is.
func dayIsOver(day string, now time.Time) bool {
	return day != "" && now.UTC().Format(time.DateOnly) > day
}
