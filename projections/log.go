package projections

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"linkledger/events/eventstore"
	"linkledger/projections/readmodel"
)

// ErrOtherLog means that the read models were not built from the log of the event store. The
// service needs an empty database, or the event store that belongs to the database.
var ErrOtherLog = errors.New("the database belongs to another log")

// CheckLog returns ErrOtherLog if the read models of the database were not built from the log of
// the event store: their checkpoints are positions in another log. It assigns the log to a database
// that has none yet. A log without accounts cannot be identified; then CheckLog returns false.
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
