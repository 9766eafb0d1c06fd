package eventlog

// If a log is restored from a backup and then written to, it may have other events at the positions
// that its readers know. Identities tell such a log from the log that the readers have read.

import (
	"encoding/binary"

	"github.com/google/uuid"
)

// Identity identifies the event at a position of the log. The zero Identity stands for no event.
type Identity struct {
	Position Position
	// ID is derived from the id of the event and the time when it was recorded. The time is
	// included because a client that repeats an append after the restore of a backup stores an
	// event with the same id again, at another time.
	ID uuid.UUID
}

// IdentityOf returns the identity of an event.
func IdentityOf(r Recorded) Identity {
	at := binary.BigEndian.AppendUint64(nil, uint64(r.Time.UnixNano()))
	return Identity{Position: r.Position, ID: uuid.NewSHA1(r.ID, at)}
}
