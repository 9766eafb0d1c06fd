// Package accountlist answers questions about accounts: their keys, members and counters, the
// people who sign in, and the session of a browser. It MUST NOT write.
package accountlist

import "linkledger/projections/readmodel"

// Reader answers from the read models. It is safe for concurrent use.
type Reader struct {
	db *readmodel.DB
}

// New returns a Reader of a prepared database.
func New(db *readmodel.DB) *Reader { return &Reader{db: db} }
