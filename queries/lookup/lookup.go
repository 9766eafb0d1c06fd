// Package lookup has what all questions to the read models share: the error for a missing object,
// and the checks of texts and days.
package lookup

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// ErrNotFound means that the requested object does not exist, or belongs to another account.
var ErrNotFound = errors.New("not found")

// Failed wraps the error of a query. sql.ErrNoRows becomes ErrNotFound.
func Failed(query string, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%s: %w", query, ErrNotFound)
	}
	return fmt.Errorf("%s: %w", query, err)
}

// Storable reports whether a read model can contain a text. PostgreSQL accepts neither NUL nor
// invalid UTF-8, so no object has a name with either.
func Storable(text string) bool { return strings.IndexByte(text, 0) < 0 && utf8.ValidString(text) }

// DayIsOver reports whether a day, YYYY-MM-DD, UTC, is over. The empty day never is.
func DayIsOver(day string, now time.Time) bool {
	return day != "" && now.UTC().Format(time.DateOnly) > day
}
