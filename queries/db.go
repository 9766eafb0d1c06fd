package queries

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"linkledger/projections/connection"
	"linkledger/projections/readmodel"
)

// ErrNotFound means that the requested object does not exist, or not in this account.
var ErrNotFound = errors.New("not found")

// DB answers queries from the read models. It is safe for concurrent use.
type DB struct {
	db *readmodel.DB
}

// New returns a DB that reads a prepared database.
func New(db *readmodel.DB) *DB { return &DB{db: db} }

// Measured returns a context whose queries Overran judges. allowed is the time for all of them.
func Measured(ctx context.Context, allowed time.Duration) context.Context {
	return connection.Measured(ctx, allowed)
}

// Spent is connection.Spent.
func Spent(ctx context.Context, took time.Duration) { connection.Spent(ctx, took) }

// Overran reports whether the queries of a request, whose context is from Measured, ask for more
// than the database can do in time. It is false if the database does not answer.
func Overran(ctx context.Context) bool { return connection.Overran(ctx) }

// failed wraps the error of a query. sql.ErrNoRows becomes ErrNotFound.
func failed(query string, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%s: %w", query, ErrNotFound)
	}
	return fmt.Errorf("%s: %w", query, err)
}

// Storable reports whether a read model can contain a text. PostgreSQL accepts neither NUL nor
// invalid UTF-8, so no object has such a name.
func Storable(text string) bool { return strings.IndexByte(text, 0) < 0 && utf8.ValidString(text) }

// dayIsOver reports whether a day, YYYY-MM-DD, UTC, is over. The empty day never is.
func dayIsOver(day string, now time.Time) bool {
	return day != "" && now.UTC().Format(time.DateOnly) > day
}
