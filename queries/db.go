package queries

import (
	"context"
	"time"

	"linkledger/projections/connection"
	"linkledger/projections/readmodel"
	"linkledger/queries/accountlist"
	"linkledger/queries/lookup"
)

// ErrNotFound means that the requested object does not exist, or belongs to another account.
var ErrNotFound = lookup.ErrNotFound

// DB answers queries from the read models. It is safe for concurrent use.
type DB struct {
	*accountlist.Reader

	db *readmodel.DB
}

// New returns a DB that reads a prepared database.
func New(db *readmodel.DB) *DB { return &DB{accountlist.New(db), db} }

// Measured returns a context whose queries are measured for Overran. allowed is the time for all of
// these queries together.
func Measured(ctx context.Context, allowed time.Duration) context.Context {
	return connection.Measured(ctx, allowed)
}

// Spent adds took to the time of the queries of a request, as connection.Spent does. took is how
// long the request has waited for other requests of its caller.
func Spent(ctx context.Context, took time.Duration) { connection.Spent(ctx, took) }

// Overran reports whether the queries of a request, whose context is from Measured, ask for more
// than the database can do in time. It is false if the database does not answer.
func Overran(ctx context.Context) bool { return connection.Overran(ctx) }

// Storable reports whether a read model can contain a text, as lookup.Storable does.
func Storable(text string) bool { return lookup.Storable(text) }
