package projections

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"linkledger/events/eventstore"
	"linkledger/projections/readmodel"
)

// ErrOtherLog means that the read models were built from another log than that of the event store.
// The service needs an empty database, or the event store that belongs to this one.
var ErrOtherLog = errors.New("the database belongs to another log")

// CheckLog returns ErrOtherLog if the read models of the database were built from another log than
// that of the event store, because the checkpoints are positions in that log. It assigns the log to
// a database that has none yet. A log without accounts cannot be told from another one; then
// CheckLog returns false.
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
