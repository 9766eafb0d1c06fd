package projections

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"linkledger/events/eventstore"
	"linkledger/projections/readmodel"
)

// ErrOtherLog means that the read models were built from another log than the event store's: give
// the service an empty database, or the event store that belongs to this one.
var ErrOtherLog = errors.New("the database belongs to another log")

// CheckLog refuses with ErrOtherLog a database whose read models were built from another log than
// that of the event store: the checkpoints are places in that log. A database that has not seen a
// log yet takes this one. While there is no account, the log can't be told from another one: then
// it is not known.
func CheckLog(
	ctx context.Context, db *readmodel.DB, store *eventstore.Store,
) (known bool, err error) {
	id, err := store.LogID(ctx)
	if err != nil {
		return false, err
	}
	noted, err := db.Log(ctx, id)
	if err != nil {
		return false, err
	}
	if noted != id {
		return false, fmt.Errorf(
			"%w: the database was filled from log %s, the event store has log %s", ErrOtherLog,
			noted, id,
		)
	}
	return id != uuid.Nil, nil
}
