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

// CheckLog returns ErrOtherLog if the read models of the database were built from another log than
// that of the event store, because their checkpoints are positions in that other log. If the
// database has no log yet, CheckLog assigns the log of the event store to it. known is false if the
// log cannot be identified because it has no accounts.
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
